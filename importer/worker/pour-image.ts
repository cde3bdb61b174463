/**
 * An import with the worker's policy: how large the disk becomes on this volume, where a stream may wait, and what
 * the log tells of it.
 */
import type { DecoderChoice } from "../../formats/codecs/codec.ts";
import { requireChecksum, unpacksArchive } from "../config.ts";
import type { WorkerConfig } from "../config.ts";
import { ImportAttempts } from "../attempts.ts";
import type { Report } from "../data-processor.ts";
import type { RunOptions } from "../run.ts";
import type { Source } from "../sources/source.ts";
import { finalDiskSize, requireRoom } from "../target-size.ts";
import type { Volume } from "../target-size.ts";
import type { Target } from "../targets/target.ts";
import { contractLines } from "./log.ts";
import type { Log } from "./log.ts";
import type { WorkerPaths } from "./paths.ts";
import { openSpill } from "./spill-place.ts";

/** What the machine gives to the work. */
export interface EngineChoice {
  readonly threads: number;
  readonly decoders: DecoderChoice;
  /** Bytes that a zstd window or an xz dictionary may take. */
  readonly memoryLimit: number;
}

export interface PourSettings {
  readonly config: WorkerConfig;
  readonly volume: Volume;
  readonly paths: WorkerPaths;
  readonly engine: EngineChoice;
  readonly log: Log;
}

/** To be run. It closes the source and the target. */
export function importInto(
  openTarget: () => Target,
  source: Source,
  settings: PourSettings,
  signal: AbortSignal,
): ImportAttempts {
  const target = openTargetOrClose(openTarget, source);
  return new ImportAttempts({ source, target, reopenTarget: openTarget }, runOptions(source, settings), signal);
}

function openTargetOrClose(openTarget: () => Target, source: Source): Target {
  try {
    return openTarget();
  } catch (error) {
    source.close();
    throw error;
  }
}

function runOptions(source: Source, { config, volume, paths, engine, log }: PourSettings): RunOptions {
  let diskSize: number | undefined;
  return {
    ...engine,
    finalSize(virtualSize) {
      requireRoom(virtualSize, volume);
      diskSize = finalDiskSize(virtualSize, volume);
      return diskSize;
    },
    checkRoom: (leastSize) => requireRoom(leastSize, volume, "at least"),
    format: undefined,
    member: undefined,
    archives: config.ownController,
    checksum: requireChecksum(config),
    verify: false,
    digest: false,
    strict: false,
    unpackInto: unpacksArchive(config) ? paths.data : undefined,
    spillFolder: () => openSpill({ paths, kind: volume.kind, diskSize: () => diskSize, storedSize: source.size, log }),
  };
}

/** What was done, once it is done. */
export function logReport(report: Report, source: Source, config: WorkerConfig, log: Log): void {
  for (const { code, message } of report.warnings) log.warn("odd, but no reason to stop", { code, text: message });
  if (report.resumes > 0) log.info("the connection broke off and was continued", { times: report.resumes });
  const checksum = requireChecksum(config);
  if (checksum !== undefined) log.info(contractLines.checksumPassed(checksum.algorithm, checksum.hex));
  const { wrappers, format, virtualSize, bytesRead, bytesWritten, bytesZeroed, spilledBytes, phases } = report;
  for (const { phase, outcome, seconds } of phases) log.detail(2, "phase finished", { phase, outcome, seconds });
  log.info(unpacksArchive(config) ? "the archive is unpacked" : "the disk is on its volume", {
    source: source.name,
    wrappers,
    format,
    virtualSize,
    bytesRead,
    bytesWritten,
    bytesZeroed,
    spilledBytes,
  });
}
