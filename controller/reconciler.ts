/**
 * One pass over one unit: observe, plan, execute. What it remembers between two passes is not the state of an import (that is
 * in the cluster) but only what need not be asked twice: what the API server refused, and why a claim is pending.
 */
import type { ApiClient } from "./api-client.ts";
import type { ClusterCache } from "./cache.ts";
import { execute } from "./executor.ts";
import type { Execution, ExecutorOptions } from "./executor.ts";
import type { Log } from "./log.ts";
import { clusterFacts, observe } from "./observe.ts";
import { PendingEvents } from "./pending-events.ts";
import type { Action } from "./plan/action.ts";
import type { ClusterFacts, ControllerSettings, ObservedImport, Rejection } from "./plan/observed.ts";
import { planConfig } from "./plan/cluster/config.ts";
import { planCron } from "./plan/cluster/cron.ts";
import { planProfile } from "./plan/cluster/profile.ts";
import { fillPath } from "./plan/claim-to-fill.ts";
import { planImport } from "./plan/plan.ts";
import { claimWithProxyCopy } from "./plan/worker/proxy-config-map.ts";
import { ProxyCertificates } from "./proxy-certificates.ts";
import { ProxyCopies } from "./proxy-copies.ts";
import type { WorkResult } from "./queue.ts";
import { unitOfKey } from "./units.ts";
import type { Unit } from "./units.ts";

export interface ReconcilerOptions {
  readonly client: ApiClient;
  readonly cache: ClusterCache;
  readonly log: Log;
  readonly now: () => number;
  readonly events: ExecutorOptions["events"];
  /** The controller's. */
  readonly namespace: string;
  readonly settings: ControllerSettings;
  readonly progressOf: (key: string) => string | undefined;
  /** See ClusterFacts. */
  readonly isCrowded: () => boolean;
}

interface Refused {
  readonly rejection: Rejection;
  readonly waitMs: number;
  /** From then on it is asked again. */
  readonly until: number;
}

const FIRST_REFUSED_MS = 1_000;
/** What an administrator sees to (a quota, a right) is noticed within this time. */
const LAST_REFUSED_MS = 30_000;

export class Reconciler {
  readonly #options: ReconcilerOptions;
  readonly #executor: ExecutorOptions;
  readonly #facts: ClusterFacts;
  readonly #pending: PendingEvents;
  readonly #certificates: ProxyCertificates;
  readonly #copies: ProxyCopies;
  readonly #refused = new Map<string, Refused>();

  constructor(options: ReconcilerOptions) {
    const { client, cache, events, log, now, namespace, settings, isCrowded } = options;
    this.#options = options;
    this.#executor = { client, cache, events };
    this.#certificates = new ProxyCertificates({ client, log, now, namespace });
    this.#copies = new ProxyCopies({ client, log });
    this.#facts = clusterFacts(cache, settings, this.#certificates, isCrowded);
    this.#pending = new PendingEvents({ client, log, now, isCrowded });
  }

  /** An object is gone, and so is the interest in why it was pending, and in what lies beside it. */
  forget(uid: string): void {
    this.#pending.forget(uid);
    this.#copies.forget(uid);
  }

  /** @throws Error only for a bug of a plan */
  async work(key: string): Promise<WorkResult> {
    const unit = unitOfKey(key);
    const refused = this.#refused.get(key);
    const isEarly = refused !== undefined && refused.until > this.#options.now();
    const told = isEarly ? refused.rejection : undefined;
    const { actions, askAgainMs } = await this.#plan(key, unit, told);
    const execution = await execute(actions, this.#executor, told);
    if (execution.end === "rejected" && execution.rejection !== told) return this.#refuse(key, execution.rejection);
    if (execution.end === "done" && told === undefined) this.#refused.delete(key);
    return this.#resultOf(
      key,
      execution,
      soonest(askAgainMs, isEarly ? refused.until - this.#options.now() : undefined),
    );
  }

  async #plan(key: string, unit: Unit, rejected: Rejection | undefined): Promise<Planned> {
    if (unit.of === "config") return { actions: planConfig(this.#facts), askAgainMs: undefined };
    if (unit.of === "profile") return { actions: this.#planProfile(unit.name), askAgainMs: undefined };
    const { cache, now, progressOf } = this.#options;
    if (unit.of === "cron") {
      const cron = cache.crons.get(unit.namespace, unit.name);
      return { actions: cron === undefined ? [] : planCron(cron, new Date(now())), askAgainMs: undefined };
    }
    const { namespace, name } = unit;
    const look = (told: Pick<ObservedImport, "pending" | "workerWarning" | "proxyCopy">): ObservedImport => {
      const asides = { ...told, rejected, progress: progressOf(key) };
      return observe(cache, { namespace, name, now: new Date(now()), asides, facts: this.#facts });
    };
    const first = look({ pending: undefined });
    const { dataVolume, target, prime, worker, orphans, promised } = first;
    if (dataVolume === undefined && target === undefined && orphans.length + promised.length === 0) {
      return { actions: [], askAgainMs: undefined };
    }
    // A claim that is not for this controller to fill asks for nothing that is not in the cache.
    if (target === undefined || (dataVolume === undefined && fillPath(target) === "none")) {
      return { actions: planImport(first), askAgainMs: undefined };
    }
    const claim = prime ?? target;
    await this.#certificates.refresh(this.#facts.config);
    const copied = claimWithProxyCopy(first);
    const certificatesDue = copied === undefined ? undefined : this.#certificates.dueInMs;
    const proxyCopy = copied === undefined ? undefined : await this.#copies.look(copied, this.#certificates.found);
    const claimDue = await this.#pending.refresh(claim);
    const workerDue = worker === undefined ? undefined : await this.#pending.refresh(worker);
    const said = this.#pending.newest(claim);
    const pending = said === undefined ? undefined : { claim: claim.metadata.name, ...said };
    const workerWarning = worker === undefined ? undefined : this.#pending.newestWarning(worker);
    const actions = planImport(look({ pending, workerWarning, proxyCopy }));
    return { actions, askAgainMs: soonest(claimDue, workerDue, certificatesDue) };
  }

  #planProfile(name: string): readonly Action[] {
    const { cache, now } = this.#options;
    return planProfile({
      now: new Date(now()),
      storageClass: cache.storageClasses.get(undefined, name),
      profile: cache.profiles.get(undefined, name),
      volumes: cache.volumes.all(),
      snapshotClasses: [...cache.snapshotClasses.all()],
    });
  }

  /** The next pass, at once, tells; and the one after it, later, asks again. */
  #refuse(key: string, rejection: Rejection): WorkResult {
    const { log, now } = this.#options;
    const waitMs = Math.min((this.#refused.get(key)?.waitMs ?? FIRST_REFUSED_MS / 2) * 2, LAST_REFUSED_MS);
    this.#refused.set(key, { rejection, waitMs, until: now() + waitMs });
    log.warn("the API server refused", { unit: key, ...rejection });
    return { result: "done", againAfterMs: 0 };
  }

  #resultOf(key: string, execution: Execution, againAfterMs: number | undefined): WorkResult {
    const { log } = this.#options;
    if (execution.end === "done") {
      return { result: "done", againAfterMs: soonest(againAfterMs, execution.againAfterMs) };
    }
    if (execution.end === "rejected") return { result: "done", againAfterMs };
    if (execution.end === "failed") log.warn("an action failed", { unit: key, error: execution.error });
    else log.detail("somebody else changed an object first", { unit: key });
    return { result: "failed" };
  }
}

interface Planned {
  readonly actions: readonly Action[];
  readonly askAgainMs: number | undefined;
}

function soonest(...times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((one) => one !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
