/**
 * Opens a target by its name: `null:`, a block device, or a file that exists or will.
 *
 * A link to a block device (/dev/disk/by-id/…) is followed; a link to a file means the file it leads to, which is replaced
 * in its real place, so that the link stays.
 */
import fs from "node:fs";
import path from "node:path";
import { errnoName, toTargetError, UsageError } from "../errors.ts";
import { loadKernel } from "../kernel.ts";
import { openBlockDevice } from "./block-device.ts";
import { openFileTarget, targetExists } from "./file.ts";
import { NULL_TARGET, openNullTarget } from "./null.ts";
import type { Preallocation, Target } from "./target.ts";

export interface TargetOptions {
  /** Replace a file that exists, once the new one is complete. Default: refuse. */
  readonly force?: boolean;
  /** Default `off`. On a device `falloc` and `full` both mean that zeros are written and nothing is unmapped. */
  readonly preallocate?: Preallocation;
  /** Write past the page cache, if the target takes that. Default: through it. */
  readonly direct?: boolean;
  /** A device reads as zeros already, on the user's word. Default: never assumed. */
  readonly assumeZero?: boolean;
  /** What a new file's mode is cut by. Default: the process's. */
  readonly umask?: number;
  /** Default true. False: writes and truncation only, as without koffi. */
  readonly kernelCalls?: boolean;
}

const NEW_FILE_MODE = 0o666;
const PERMISSION_BITS = 0o777;

/**
 * @throws UsageError if the name cannot be meant (exists, a directory, no such directory);
 *         TargetError TARGET_DENIED, TARGET_BUSY, TARGET_IO
 */
export function openTarget(name: string, options: TargetOptions = {}): Target {
  if (name === NULL_TARGET) return openNullTarget();
  const kernel = options.kernelCalls === false ? undefined : loadKernel();
  const { preallocate = "off", direct = false, assumeZero = false, force = false } = options;
  const stat = statTarget(name);
  if (stat?.isBlockDevice() === true) return openBlockDevice(name, { preallocate, direct, assumeZero, kernel });
  if (stat === undefined) {
    checkFolder(name);
    const mode = NEW_FILE_MODE & ~(options.umask ?? process.umask());
    return openFileTarget(name, path.resolve(name), { preallocate, force, direct, mode, owner: undefined, kernel });
  }
  if (stat.isDirectory()) throw new UsageError(`${name} is a directory`, { remedy: "Name a file in it." });
  if (!stat.isFile()) {
    throw new UsageError(`${name} is neither a file nor a block device`, {
      remedy: `To throw the disk away, use ${NULL_TARGET}`,
    });
  }
  if (!force) throw targetExists(name);
  return openFileTarget(name, fs.realpathSync(name), {
    preallocate,
    force,
    direct,
    mode: stat.mode & PERMISSION_BITS,
    owner: { uid: stat.uid, gid: stat.gid },
    kernel,
  });
}

function statTarget(name: string): fs.Stats | undefined {
  try {
    return fs.statSync(name);
  } catch (error) {
    if (errnoName(error) === "ENOENT") return undefined;
    if (errnoName(error) === "ENOTDIR") throw noFolder(name, error);
    throw toTargetError(error, "look at", name);
  }
}

function checkFolder(name: string): void {
  if (name === "" || name.endsWith("/")) throw new UsageError(`"${name}" names no file`);
  if (fs.lstatSync(name, { throwIfNoEntry: false }) !== undefined) {
    throw new UsageError(`${name} is a link that leads nowhere`, { remedy: "Remove it, or name the file itself." });
  }
  if (!fs.existsSync(path.dirname(path.resolve(name)))) throw noFolder(name, undefined);
}

function noFolder(name: string, cause: unknown): UsageError {
  return new UsageError(`there is no directory ${path.dirname(path.resolve(name))}`, {
    context: { path: name },
    cause,
  });
}
