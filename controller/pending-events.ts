/**
 * Why a claim is still Pending, in the words of its newest event: what the provisioner or the scheduler complains of. Events
 * of a whole cluster are too many to watch; those of one claim are asked for when it has been Pending for some seconds, and
 * then less and less often.
 */
import type { ApiClient } from "./api-client.ts";
import { EVENT } from "./api/kinds.ts";
import type { Claim, KubeObject } from "./api/kube.ts";
import type { Log } from "./log.ts";
import type { ObservedImport } from "./plan/observed.ts";

export interface PendingEventsOptions {
  readonly client: Pick<ApiClient, "list">;
  readonly log: Log;
  readonly now: () => number;
}

interface Answer {
  readonly askedAt: number;
  readonly waitMs: number;
  readonly pending: ObservedImport["pending"];
}

/** What binds within this time needs no explanation. */
const PATIENCE_MS = 5_000;
const FIRST_WAIT_MS = 5_000;
const LAST_WAIT_MS = 300_000;

export class PendingEvents {
  readonly #options: PendingEventsOptions;
  /** By the claim's UID. */
  readonly #answers = new Map<string, Answer>();

  constructor(options: PendingEventsOptions) {
    this.#options = options;
  }

  /** What is known now, without asking. */
  of(claim: Claim): ObservedImport["pending"] {
    return claim.status?.phase === "Pending" ? this.#answers.get(claim.metadata.uid ?? "")?.pending : undefined;
  }

  /** In how many milliseconds to ask for this claim's events; undefined: never. */
  dueIn(claim: Claim): number | undefined {
    const { uid, creationTimestamp } = claim.metadata;
    if (uid === undefined) return undefined;
    if (claim.status?.phase !== "Pending" || claim.metadata.deletionTimestamp !== undefined) {
      this.#answers.delete(uid);
      return undefined;
    }
    const before = this.#answers.get(uid);
    const from =
      before === undefined ? Date.parse(creationTimestamp ?? "") + PATIENCE_MS : before.askedAt + before.waitMs;
    return Number.isFinite(from) ? Math.max(0, from - this.#options.now()) : undefined;
  }

  async ask(claim: Claim): Promise<void> {
    const { namespace, name, uid } = claim.metadata;
    if (uid === undefined) return;
    const { client, log, now } = this.#options;
    const before = this.#answers.get(uid);
    const waitMs = before === undefined ? FIRST_WAIT_MS : Math.min(before.waitMs * 2, LAST_WAIT_MS);
    let pending = before?.pending;
    try {
      const fieldSelector = `involvedObject.uid=${uid}`;
      const { items } = await client.list(EVENT, { ...(namespace === undefined ? {} : { namespace }), fieldSelector });
      const newest = newestOf(items);
      pending = newest === undefined ? undefined : { claim: name, ...newest };
    } catch (error) {
      log.warn("cannot list the events of a claim", { namespace, name, error });
    }
    this.#answers.set(uid, { askedAt: now(), waitMs, pending });
  }

  /** It is gone. */
  forget(uid: string): void {
    this.#answers.delete(uid);
  }
}

interface Event extends KubeObject {
  readonly reason?: unknown;
  readonly message?: unknown;
  readonly lastTimestamp?: unknown;
  readonly eventTime?: unknown;
}

function newestOf(events: readonly Event[]): { readonly reason: string; readonly message: string } | undefined {
  const told = events.flatMap(({ metadata, reason, message, lastTimestamp, eventTime }) => {
    if (typeof reason !== "string" || typeof message !== "string") return [];
    const time = [lastTimestamp, eventTime, metadata.creationTimestamp].find((one) => typeof one === "string");
    return [{ reason, message, time: Date.parse(String(time)) || 0 }];
  });
  const [newest] = told.sort((a, b) => b.time - a.time);
  return newest === undefined ? undefined : { reason: newest.reason, message: newest.message };
}
