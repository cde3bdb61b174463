/**
 * Where the worker finds and leaves things in its container: CDI's paths, which controllers mount volumes at. Another runtime,
 * and every test, may name others; nobody else should.
 */
import type { Environment } from "../config.ts";
import type { SettingName } from "../settings.ts";
import { settings } from "../settings.ts";

export interface WorkerPaths {
  /** Folder of a filesystem volume. */
  readonly data: string;
  /** A block volume. That it is there, whatever it is, says that the volume is none of files. */
  readonly device: string;
  /** Folder of a scratch volume, where one was given. */
  readonly scratch: string;
  readonly terminationLog: string;
  /** Folder of secret headers, one in each file. */
  readonly extraHeaders: string;
  /** Of the metrics page; 0: any that is free. */
  readonly metricsPort: number;
}

/** Of the disk on a filesystem volume. */
export const DISK_NAME = "disk.img";

/** @returns the contract's paths, but for what the environment names */
export function workerPaths(env: Environment): WorkerPaths {
  return Object.freeze({
    data: named(env, "DECANT_DATA_DIR"),
    device: named(env, "DECANT_BLOCK_DEVICE"),
    scratch: named(env, "DECANT_SCRATCH_DIR"),
    terminationLog: named(env, "DECANT_TERMINATION_LOG"),
    extraHeaders: named(env, "DECANT_EXTRA_HEADERS_DIR"),
    metricsPort: readPort(named(env, "DECANT_METRICS_PORT")),
  });
}

function named(env: Environment, name: SettingName): string {
  return env[name] || settings[name].default;
}

function readPort(text: string): number {
  const port = Number(text);
  return Number.isInteger(port) && port >= 0 && port <= 65_535 ? port : Number(settings.DECANT_METRICS_PORT.default);
}
