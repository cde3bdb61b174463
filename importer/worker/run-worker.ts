/**
 * One run of the worker: environment in; a disk on its volume, a termination message and an exit status out.
 *
 * The order of things is the contract's. What fails before the source is looked at is told by the log alone; from there on
 * every failure has its message. Nothing here ends the process, and nothing reads it but through its parameters.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { FormatError } from "../../formats/errors.ts";
import {
  hasOwnController,
  readConfig,
  refuseContentType,
  requireSource,
  secretsOf,
  unpacksArchive,
} from "../config.ts";
import type { Environment, WorkerConfig } from "../config.ts";
import type { ImportAttempts } from "../attempts.ts";
import type { FailureSite, Stage } from "../failure-text.ts";
import { systemPace } from "../http/pace.ts";
import { orInterrupted } from "../or-interrupted.ts";
import { errorCode, EXIT_OK } from "../outcome.ts";
import type { PhaseRecord } from "../phases.ts";
import type { Source } from "../sources/source.ts";
import { ScratchNeeded } from "../spill-file.ts";
import { blankDiskSize, sizeWarning } from "../target-size.ts";
import type { Volume } from "../target-size.ts";
import { blankEnding, failureEnding, scratchEnding, successEnding } from "../termination.ts";
import type { Ending } from "../termination.ts";
import { makeBlankDisk } from "./blank-disk.ts";
import { askLabels } from "./image-labels.ts";
import type { Log } from "./log.ts";
import { startMetricsServer } from "./metrics-server.ts";
import type { MetricsServer } from "./metrics-server.ts";
import { openWorkerSource } from "./open-worker-source.ts";
import type { ImageSourceKind } from "./open-worker-source.ts";
import type { WorkerPaths } from "./paths.ts";
import { importInto, logReport } from "./pour-image.ts";
import type { EngineChoice } from "./pour-image.ts";
import { makeDoneFile, waitForReadyFile } from "./ready-file.ts";
import { readSecretHeaders } from "./secret-headers.ts";
import { syncDisk } from "./sync-disk.ts";
import { writeTerminationLog } from "./termination-log.ts";
import { probeVolume, removeLeftovers, volumeKind } from "./volume.ts";
import { diskPath, openWorkerTarget } from "./worker-target.ts";

export interface Worker {
  readonly env: Environment;
  readonly paths: WorkerPaths;
  readonly log: Log;
  /** Aborted by a signal that says stop. */
  readonly signal: AbortSignal;
  readonly engine: EngineChoice;
}

/** Whoever waits for a message must not take silence for success. */
const EXIT_UNTOLD = 1;

/**
 * How long an early failure waits for the metrics page to have been made. The thread that makes its certificate is to end by
 * itself: one that is ended at its work may take the process with it, and the exit status.
 */
const METRICS_GRACE_MS = 1000;

export interface WorkerEnd {
  readonly exit: number;
  /** The path through the phases; empty where there was none. */
  readonly phases: readonly PhaseRecord[];
}

/** Runs to the end, whatever happens. */
export async function runWorker(worker: Worker): Promise<WorkerEnd> {
  const attempt = new Attempt(worker);
  const metrics = serveMetrics(worker, attempt);
  let ending: Ending;
  try {
    ending = await attempt.run();
  } catch (error) {
    ending = attempt.failed(error);
  }
  const exit = attempt.tell(ending);
  const grace = new AbortController();
  const late = sleep(METRICS_GRACE_MS, undefined, { signal: grace.signal }).catch(() => undefined);
  await Promise.race([metrics.then((server) => server?.close()), late]);
  grace.abort();
  return { exit, phases: attempt.phases };
}

/** Nothing waits for the server, and no import fails for it. */
async function serveMetrics({ env, paths, log }: Worker, attempt: Attempt): Promise<MetricsServer | undefined> {
  try {
    return await startMetricsServer({
      port: paths.metricsPort,
      ownerUid: env["OWNER_UID"] || undefined,
      progress: () => attempt.progress,
    });
  } catch (error) {
    log.error("there is no metrics page", error, { port: paths.metricsPort });
    return undefined;
  }
}

class Attempt {
  readonly #worker: Worker;
  #stage: Stage = "start-up";
  #config: WorkerConfig | undefined;
  #attempts: ImportAttempts | undefined;

  constructor(worker: Worker) {
    this.#worker = worker;
  }

  get phases(): readonly PhaseRecord[] {
    return this.#attempts?.phases ?? [];
  }

  get progress(): { readonly done: number; readonly total: number | undefined } {
    return this.#attempts?.progress ?? { done: 0, total: undefined };
  }

  async run(): Promise<Ending> {
    const { env, paths, log } = this.#worker;
    const config = readConfig(env, readSecretHeaders(paths.extraHeaders));
    this.#config = config;
    log.hide(secretsOf(config));
    const kind = volumeKind(paths);
    refuseContentType(config);
    this.#removeLeftovers(config);
    const volume = probeVolume(kind, paths, config);
    const warning = sizeWarning(volume);
    if (warning !== undefined) log.warn(warning);
    this.#stage = "choice";
    const source = requireSource(config);
    return source === "none" ? await this.#makeBlank(volume, config) : await this.#import(source, volume, config);
  }

  /** What an error means for whoever looks at the pod. */
  failed(error: unknown): Ending {
    const { env, log } = this.#worker;
    if (error instanceof ScratchNeeded) {
      log.info("scratch space is needed, and there is none", { reason: error.message });
      return scratchEnding();
    }
    const secrets = this.#config === undefined ? [] : secretsOf(this.#config);
    const ending = failureEnding(error, this.#site(error), { ownController: hasOwnController(env), secrets });
    if (errorCode(error) === "INTERRUPTED") log.warn("told to stop; what was half done is gone");
    else log.error("the import failed", error, { stage: this.#stage });
    return ending;
  }

  /** Tells whoever waits for it. @returns the exit status */
  tell({ exit, message, droppedLabels }: Ending): number {
    const { log, paths } = this.#worker;
    if (exit === EXIT_OK) this.#sayDone();
    if (droppedLabels.length > 0) log.warn("labels do not fit the termination message", { keys: droppedLabels });
    if (message !== undefined) log.info("termination message", { text: message });
    try {
      writeTerminationLog(paths.terminationLog, message);
      return exit;
    } catch (error) {
      log.error("the termination message cannot be written", error, { path: paths.terminationLog });
      return exit === EXIT_OK ? EXIT_UNTOLD : exit;
    }
  }

  #removeLeftovers(config: WorkerConfig): void {
    const { paths, log } = this.#worker;
    // A folder that cannot be written is worth a message to whoever looks at the pod, unlike one that is not there.
    this.#stage = "choice";
    const keepsDisk = unpacksArchive(config) || config.checkpoint.previous !== undefined;
    for (const path of removeLeftovers(paths, keepsDisk)) log.info("removed what an earlier attempt left", { path });
    this.#stage = "start-up";
  }

  async #makeBlank(volume: Volume, config: WorkerConfig): Promise<Ending> {
    const { paths, signal } = this.#worker;
    this.#stage = "blank";
    const size = blankDiskSize(volume, config.preallocation, config.imageSize);
    if (volume.kind === "block" && size === 0) return blankEnding("block", false);
    await makeBlankDisk(openWorkerTarget(volume.kind, paths, config), size, signal);
    this.#sync(volume, config);
    return blankEnding(volume.kind, config.preallocation);
  }

  async #import(kind: ImageSourceKind, volume: Volume, config: WorkerConfig): Promise<Ending> {
    const { env, engine: decoding, log, signal } = this.#worker;
    const { readyFile } = config;
    const servedName = readyFile === undefined ? undefined : await waitForReadyFile(readyFile, systemPace, signal);
    this.#stage = "connect";
    const opening = openWorkerSource(kind, { config, servedName, env, decoding, signal, log });
    const opened = await orInterrupted(opening, signal, ({ source }) => source.close());
    await this.#pour(opened.source, volume, config);
    this.#sync(volume, config);
    const labels = await askLabels(opened.labels, log, signal);
    return successEnding({ preallocationApplied: config.preallocation && !unpacksArchive(config), labels });
  }

  async #pour(source: Source, volume: Volume, config: WorkerConfig): Promise<void> {
    const { paths, engine, log, signal } = this.#worker;
    this.#stage = "Transfer";
    const settings = { config, volume, paths, engine, log };
    this.#attempts = importInto(() => openWorkerTarget(volume.kind, paths, config), source, settings, signal);
    try {
      logReport(await this.#attempts.run(), source, config, log);
    } finally {
      this.#stage = this.#attempts.progress.phase;
    }
  }

  /** The container beside this one serves the image until it is told that nobody wants it any more. */
  #sayDone(): void {
    const { doneFile } = this.#config ?? {};
    if (doneFile === undefined) return;
    const failure = makeDoneFile(doneFile);
    if (failure !== undefined) this.#worker.log.error("the done file cannot be made", failure, { path: doneFile });
  }

  #sync({ kind }: Volume, config: WorkerConfig): void {
    const { paths, log } = this.#worker;
    this.#stage = "Complete";
    syncDisk(diskPath(kind, paths, config), log);
  }

  #site(error: unknown): FailureSite {
    const { source = "", endpoint = "" } = this.#config ?? {};
    const contentType = this.#config !== undefined && unpacksArchive(this.#config) ? "archive" : "kubevirt";
    // The first bytes of a web page are looked at as soon as there is a connection.
    const isPage = this.#stage === "connect" && error instanceof FormatError && source !== "registry";
    const stage = isPage ? "Info" : this.#stage;
    return { stage, source, contentType, endpoint };
  }
}
