/**
 * Which of several replicas works: the one that holds a Lease and keeps renewing it. A replica that could not renew it in time
 * must assume that another one works by now, so it ends at once, and comes back as one that waits.
 *
 * Another replica's clock is not believed: a Lease has expired when it was seen unchanged for its whole duration.
 */
import type { ApiClient } from "./api-client.ts";
import { ApiError } from "./api-error.ts";
import { LEASE } from "./api/kinds.ts";
import type { KubeObject } from "./api/kube.ts";
import type { Log } from "./log.ts";

export interface LeaderOptions {
  readonly client: ApiClient;
  readonly log: Log;
  readonly namespace: string;
  /** Of this replica. */
  readonly identity: string;
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  readonly signal: AbortSignal;
}

interface Lease extends KubeObject {
  readonly spec?: {
    readonly holderIdentity?: string | null;
    readonly leaseDurationSeconds?: number | null;
    readonly renewTime?: string | null;
    readonly leaseTransitions?: number | null;
  };
}

const LEASE_NAME = "decant-controller";
const LEASE_SECONDS = 15;
/** As client-go does: a renewal may take 8 s on a busy API server before this replica has to give up. */
const RENEW_MS = 2_000;
/** Shorter than the Lease: by the time that others may take it, this replica has ended. */
const GIVE_UP_MS = 10_000;
const ASK_MS = 2_000;
const LONGEST_LEASE_SECONDS = 3600;

/** The Lease of KubeVirt CDI's own controller, in whatever namespace it was installed. */
const CDI_LEASE_NAME = "cdi-controller-leader-election-helper";

/**
 * Two controllers that fill the same claims would fight over them: CDI's, or another installation of this one. Replicas of one
 * installation share a namespace.
 * @returns who else works here, as `<namespace>/<lease>`; undefined if nobody does
 */
export async function findOtherController({
  client,
  namespace,
  now,
  signal,
}: LeaderOptions): Promise<string | undefined> {
  for (const name of [CDI_LEASE_NAME, LEASE_NAME]) {
    const { items } = await client.list(LEASE, { fieldSelector: `metadata.name=${name}`, signal });
    const held = (items as readonly Lease[]).find(({ metadata, spec }) => {
      if (name === LEASE_NAME && metadata.namespace === namespace) return false;
      const renewed = Date.parse(spec?.renewTime ?? "");
      return isHeld(spec) && Number.isFinite(renewed) && renewed + durationMs(spec) > now();
    });
    if (held !== undefined) return `${held.metadata.namespace}/${held.metadata.name}`;
  }
  return undefined;
}

/** Waits until this replica holds the Lease. Rejects only if the signal is aborted. */
export async function becomeLeader(options: LeaderOptions): Promise<void> {
  const { log, now, sleep, signal, identity } = options;
  let seen: { readonly version: string | undefined; readonly at: number } | undefined;
  let holder: string | undefined;
  for (;;) {
    signal.throwIfAborted();
    try {
      const lease = await findLease(options);
      const version = lease?.metadata.resourceVersion;
      if (seen === undefined || seen.version !== version) seen = { version, at: now() };
      const isFree = lease === undefined || !isHeld(lease.spec) || lease.spec?.holderIdentity === identity;
      const hasExpired = lease !== undefined && now() - seen.at > durationMs(lease.spec);
      if (isFree || hasExpired) {
        await take(lease, options);
        log.info("this replica works", { identity });
        return;
      }
      const { holderIdentity } = lease.spec ?? {};
      if (holder !== holderIdentity) log.info("another replica works, and this one waits", { holder: holderIdentity });
      holder = holderIdentity ?? undefined;
    } catch (error) {
      // Somebody was quicker, or the API server is not to be reached: both are asked again.
      if (!(error instanceof ApiError && (error.isConflict || error.alreadyExists))) {
        log.warn("cannot ask for the lease", { error });
      }
    }
    await sleep(ASK_MS);
  }
}

/** Renews the Lease. Resolves when it is lost, or when the signal is aborted; an API server that is silent holds up neither. */
export async function stayLeader(options: LeaderOptions): Promise<"lost" | "stopped"> {
  const { log, now, sleep, signal } = options;
  let renewedAt = now();
  for (;;) {
    await sleep(RENEW_MS);
    if (signal.aborted) return "stopped";
    try {
      const askedAt = now();
      const waiting = sleep(Math.max(0, renewedAt + GIVE_UP_MS - askedAt)).then(() => "silent" as const);
      const renewal = await Promise.race([renew(options), waiting]);
      if (signal.aborted) return "stopped";
      if (renewal !== "renewed") return "lost";
      renewedAt = askedAt;
    } catch (error) {
      if (signal.aborted) return "stopped";
      log.warn("cannot renew the lease", { error });
    }
    if (now() - renewedAt > GIVE_UP_MS) return "lost";
  }
}

async function renew(options: LeaderOptions): Promise<"renewed" | "taken"> {
  const { client, now, identity } = options;
  const lease = await findLease(options);
  if (lease?.spec?.holderIdentity !== identity) return "taken";
  await client.patch(keyOfLease(lease), { spec: { renewTime: microTime(now()) } }, preconditions(lease));
  return "renewed";
}

/** Lets others begin at once. */
export async function resign(options: LeaderOptions): Promise<void> {
  try {
    const lease = await findLease(options);
    if (lease?.spec?.holderIdentity !== options.identity) return;
    await options.client.patch(keyOfLease(lease), { spec: { holderIdentity: "" } }, preconditions(lease));
  } catch (error) {
    options.log.warn("cannot give the lease back", { error });
  }
}

async function findLease({ client, namespace }: LeaderOptions): Promise<Lease | undefined> {
  return await client.find(LEASE, LEASE_NAME, namespace);
}

async function take(lease: Lease | undefined, { client, namespace, identity, now }: LeaderOptions): Promise<void> {
  const time = microTime(now());
  const spec = {
    holderIdentity: identity,
    leaseDurationSeconds: LEASE_SECONDS,
    acquireTime: time,
    renewTime: time,
    leaseTransitions: (lease?.spec?.leaseTransitions ?? -1) + 1,
  };
  if (lease === undefined) {
    const { apiVersion, kind } = LEASE;
    await client.create({ apiVersion, kind, metadata: { namespace, name: LEASE_NAME }, spec } as KubeObject);
  } else {
    await client.patch(keyOfLease(lease), { spec }, preconditions(lease));
  }
}

function isHeld(spec: Lease["spec"]): boolean {
  return (spec?.holderIdentity ?? "") !== "";
}

function durationMs(spec: Lease["spec"]): number {
  return Math.min(spec?.leaseDurationSeconds ?? LEASE_SECONDS, LONGEST_LEASE_SECONDS) * 1000;
}

function preconditions({ metadata: { uid = "", resourceVersion } }: Lease) {
  return { uid, resourceVersion };
}

function keyOfLease({ metadata: { namespace, name } }: Lease) {
  return { apiVersion: LEASE.apiVersion, kind: LEASE.kind, namespace, name };
}

/** Leases have their times with microseconds. */
function microTime(ms: number): string {
  return new Date(ms).toISOString().replace("Z", "000Z");
}
