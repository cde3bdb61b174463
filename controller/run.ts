/**
 * The controller as a whole: waits for its turn (leader.ts), fills the cache, and plans what changes until it is told to stop
 * or loses its Lease. Everything that it remembers goes with it; the next replica starts from what is in the cluster.
 */
import { ApiClient } from "./api-client.ts";
import type { CallObserver } from "./api-client.ts";
import { CACHED_KINDS } from "./api/kinds.ts";
import type { CachedKind } from "./api/kinds.ts";
import { Backlog } from "./backlog.ts";
import { ClusterCache } from "./cache.ts";
import type { Connection } from "./cluster.ts";
import { EventWriter } from "./event-writer.ts";
import { serveHealth } from "./health.ts";
import { installCrds } from "./install-crds.ts";
import { becomeLeader, findOtherController, resign, stayLeader } from "./leader.ts";
import type { LeaderOptions } from "./leader.ts";
import type { Log } from "./log.ts";
import { createMetrics } from "./metrics.ts";
import type { Metrics } from "./metrics.ts";
import type { ControllerSettings } from "./plan/observed.ts";
import { Progress, progressPageOf } from "./progress.ts";
import type { ProgressPage } from "./progress.ts";
import { WorkQueue } from "./queue.ts";
import type { Clock } from "./queue.ts";
import { Reconciler } from "./reconciler.ts";
import { reflect } from "./reflector.ts";
import { Refusal } from "./refusal.ts";
import { CONFIG_KEY, concernedUnits, isNewUnit, unitOfKey } from "./units.ts";

export interface RunOptions {
  readonly connection: Connection;
  readonly settings: ControllerSettings;
  /** Of the Lease. */
  readonly namespace: string;
  /** Of this replica: no two have the same. */
  readonly identity: string;
  /** 0: a free one. */
  readonly metricsPort: number;
  readonly log: Log;
  readonly clock: Clock;
  /** Ends the controller in order. */
  readonly signal: AbortSignal;
  /** Told of each call of the API, before it is made; what it throws takes the call's place. */
  readonly onCall?: CallObserver;
  /** Told when everything is in the cache. */
  readonly onStarted?: () => void;
}

/** `lost`: another replica may work by now, so the process has to end. */
export type RunEnd = "stopped" | "lost";

/** Units that wait for an answer of the API server at a time. */
const CONCURRENT_UNITS = 16;
/** Of them, those that have nothing in the cluster yet. */
const CONCURRENT_NEW_UNITS = 4;
/** Units that wait for their turn. */
const CROWD = 100;
const PROGRESS_MS = 2_000;

/** @throws Refusal if another installation works in this cluster */
export async function runController(options: RunOptions): Promise<RunEnd> {
  const { connection, metricsPort, log, clock, signal, namespace, identity } = options;
  let queue: WorkQueue | undefined;
  let reconciler: Reconciler | undefined;
  let isReady = false;
  let isLost = false;
  const cache = new ClusterCache((kind, before, after) => {
    if (queue === undefined) return;
    if (after === undefined) reconciler?.forget(before?.metadata.uid ?? "");
    for (const key of concernedUnits(kind, before, after, cache)) queue.add(key);
  });
  const metrics = createMetrics({ queue: () => queue, cache });
  const client = new ApiClient(connection, (verb, kind, subject) => {
    // Somebody else may be at work: what was begun goes no further.
    if (isLost) throw new Error("the Lease is lost");
    metrics.countCall(verb, kind);
    options.onCall?.(verb, kind, subject);
  });
  const health = await serveHealth({ port: metricsPort, isReady: () => isReady, metrics });
  // Whatever ends the controller ends all of it: the order to stop, a lost Lease, a failure.
  const ending = new AbortController();
  const over = AbortSignal.any([signal, ending.signal]);
  const sleep = sleepOf(clock, over);
  const now = (): number => clock.now();
  const events = new EventWriter({ client, log, now: () => new Date(now()), identity });
  const leader: LeaderOptions = { client, log, namespace, identity, sleep, signal: over, now };
  const parts: Parts = { ...options, client, cache, signal: over, metrics, sleep };

  /** Until it is over. */
  async function work(): Promise<void> {
    await refuseCompany(leader);
    await installCrds({ client, cache, events, log, sleep, signal: over });
    const reflectors = await fillCache(parts);
    const progress = new Progress({ pages: () => workerPages(cache), onProgress: (key) => queue?.add(key), now });
    const isCrowded = (): boolean => (queue?.depth ?? 0) >= CROWD;
    reconciler = new Reconciler({ ...parts, events, now, isCrowded, progressOf: (key) => progress.of(key) });
    await planCluster(reconciler, parts);
    queue = startQueue(parts, reconciler);
    for (const key of allUnits(cache)) queue.add(key);
    void askForProgress(progress, parts);
    isReady = true;
    log.info("the cache is filled", cache.sizes());
    options.onStarted?.();
    if (!over.aborted) await new Promise((resolve) => over.addEventListener("abort", resolve, { once: true }));
    await Promise.all([queue.stop(), ...reflectors]);
  }

  async function stay(): Promise<RunEnd> {
    const how = await stayLeader(leader);
    isLost = how === "lost";
    ending.abort();
    return how;
  }

  try {
    await refuseCompany(leader);
    isReady = true;
    await becomeLeader(leader);
    metrics.setLeading(true);
    isReady = false;
    // From now on: CRDs and the first lists of a large cluster may take longer than a Lease lasts.
    const staying = stay();
    try {
      await work();
    } catch (error) {
      if (!over.aborted) throw error;
    } finally {
      ending.abort();
      if ((await staying) === "stopped") await resign(leader);
    }
    return await staying;
  } catch (error) {
    if (signal.aborted) return "stopped";
    throw error;
  } finally {
    connection.close();
    await health.close();
  }
}

async function refuseCompany(leader: LeaderOptions): Promise<void> {
  const other = await findOtherController(leader);
  if (other === undefined) return;
  throw new Refusal(`another controller fills claims in this cluster: it holds the Lease ${other}; stop it first`);
}

interface Parts extends RunOptions {
  readonly client: ApiClient;
  readonly cache: ClusterCache;
  readonly metrics: Metrics;
  readonly sleep: (ms: number) => Promise<void>;
}

/**
 * @returns what ends with the signal, when everything has been listed once
 * @throws what the signal says, if it is aborted before
 */
async function fillCache({ client, cache, log, signal, sleep }: Parts): Promise<Promise<void>[]> {
  signal.throwIfAborted();
  const missing = new Set(Object.keys(CACHED_KINDS));
  const reflectors: Promise<void>[] = [];
  await new Promise<void>((resolve) => {
    const onSynced = (kind: CachedKind): void => {
      missing.delete(kind);
      if (missing.size === 0) resolve();
    };
    signal.addEventListener("abort", () => resolve(), { once: true });
    const options = { client, cache, log, signal, onSynced, sleep };
    for (const kind of Object.keys(CACHED_KINDS) as CachedKind[]) reflectors.push(reflect(kind, options));
  });
  signal.throwIfAborted();
  return reflectors;
}

function startQueue({ cache, log, clock, metrics }: Parts, reconciler: Reconciler): WorkQueue {
  const backlog = new Backlog(cache, () => clock.now());
  return new WorkQueue({
    work: async (key) => {
      const result = await reconciler.work(key);
      if (result.result === "failed") metrics.countFailure(ofKey(key));
      return result;
    },
    onError: (key, error) => {
      metrics.countFailure(ofKey(key));
      log.error("a plan failed", { unit: key, error });
    },
    onWorked: (key, waitedMs, workedMs) => {
      metrics.observePlan(ofKey(key), workedMs);
      log.detail("planned", { unit: key, waitedMs, workedMs });
    },
    concurrency: CONCURRENT_UNITS,
    isNew: (key) => isNewUnit(key, cache),
    concurrencyOfNew: CONCURRENT_NEW_UNITS,
    mayBegin: (key) => {
      const unit = unitOfKey(key);
      return unit.of !== "import" || !backlog.isFull(unit.namespace);
    },
    clock,
  });
}

async function askForProgress(progress: Progress, { sleep, signal }: Parts): Promise<void> {
  while (!signal.aborted) {
    await progress.askAll();
    await sleep(PROGRESS_MS);
  }
}

/** What imports read: before the first of them, so that none complains that it is not there yet. */
async function planCluster(reconciler: Reconciler, { cache, log, signal }: Parts): Promise<void> {
  for (const key of allUnits(cache)) {
    const { of } = unitOfKey(key);
    if (of !== "config" && of !== "profile") continue;
    signal.throwIfAborted();
    try {
      await reconciler.work(key);
      // The API server takes no status with a new object.
      await reconciler.work(key);
    } catch (error) {
      log.error("a plan failed", { unit: key, error });
    }
  }
}

function allUnits(cache: ClusterCache): ReadonlySet<string> {
  const keys = new Set([CONFIG_KEY]);
  for (const [kind, object] of cache.everything()) {
    for (const key of concernedUnits(kind, undefined, object, cache)) keys.add(key);
  }
  return keys;
}

function workerPages(cache: ClusterCache): ReadonlyMap<string, ProgressPage> {
  const pages = new Map<string, ProgressPage>();
  for (const pod of cache.pods.all()) {
    const page = progressPageOf(pod);
    const [key] = page === undefined ? [] : concernedUnits("Pod", undefined, pod, cache);
    if (page !== undefined && key !== undefined) pages.set(key, page);
  }
  return pages;
}

/** `import`, `profile`, `cron`, `config`. */
function ofKey(key: string): string {
  return key.split("/", 1)[0] ?? key;
}

/** Resolves after the time, or as soon as the signal is aborted. */
function sleepOf(clock: Clock, signal: AbortSignal): (ms: number) => Promise<void> {
  return async (ms) => {
    if (signal.aborted) return;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        cancel();
        signal.removeEventListener("abort", end);
        resolve();
      };
      const cancel = clock.after(ms, end);
      signal.addEventListener("abort", end);
    });
  };
}
