/**
 * The hidden, locked file that a disk is written to before it gets its name: `.<name>.decant-partial` beside its place.
 *
 * Whoever has the lock on it is at work; a partial file without one was left behind and is removed. The lock belongs to the
 * open file, so it ends with the process, however that ends. A lock proves something only while the name still leads to the
 * file that is locked: between two processes that find the same leftover, the slower one would else remove the other's file.
 */
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { errnoName, TargetError, toTargetError } from "../errors.ts";
import { isUnsupported } from "../kernel.ts";
import type { Kernel } from "../kernel.ts";

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_RDWR } = fs.constants;

/** Nobody else looks into a disk that is not finished. */
const PARTIAL_MODE = 0o600;

const SUFFIX = ".decant-partial";
const NAME_MAX = 255; // linux/limits.h, bytes

/** Others may take a leftover away at the same time; so often is it tried again. */
const MAX_TRIES = 16;

/** @param finalPath where the disk will be */
export function partialPath(finalPath: string): string {
  const name = path.basename(finalPath);
  const partial = `.${name}${SUFFIX}`;
  if (Buffer.byteLength(partial) <= NAME_MAX) return path.join(path.dirname(finalPath), partial);
  const short = createHash("sha256").update(name).digest("hex").slice(0, 32);
  return path.join(path.dirname(finalPath), `.${short}${SUFFIX}`);
}

/**
 * Creates and locks the partial file; removes one that was left behind.
 * @param flags more open flags (O_DIRECT)
 * @returns its descriptor
 * @throws TargetError TARGET_BUSY if a process is at work on it, else by errno
 */
export function createPartial(partial: string, kernel: Kernel | undefined, flags = 0): number {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const fd = tryCreate(partial, flags);
    if (fd === undefined) {
      removeLeftover(partial, kernel);
      continue;
    }
    if (isLockedHere(fd, kernel) && leadsTo(partial, fd)) return fd;
    fs.closeSync(fd);
  }
  throw busy(partial);
}

/** True if `path` is a name of the open file. */
export function leadsTo(name: string, fd: number): boolean {
  const opened = fs.fstatSync(fd);
  const named = fs.lstatSync(name, { throwIfNoEntry: false });
  return named !== undefined && named.ino === opened.ino && named.dev === opened.dev;
}

function tryCreate(partial: string, flags: number): number | undefined {
  try {
    return fs.openSync(partial, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | flags, PARTIAL_MODE);
  } catch (error) {
    if (errnoName(error) === "EEXIST") return undefined;
    throw error;
  }
}

/**
 * Removes a partial file that nobody is at work on.
 * @throws TargetError TARGET_BUSY if a process is; TARGET_DENIED for what is no file
 */
export function removeLeftover(partial: string, kernel: Kernel | undefined): void {
  const stat = fs.lstatSync(partial, { throwIfNoEntry: false });
  if (stat === undefined) return;
  if (!stat.isFile()) {
    throw new TargetError("TARGET_DENIED", `${partial} is in the way, and it is no file that this program left`, {
      remedy: "Remove it.",
      context: { path: partial },
    });
  }
  let fd: number;
  try {
    fd = fs.openSync(partial, O_RDWR | O_NOFOLLOW);
  } catch (error) {
    if (errnoName(error) === "ENOENT") return;
    throw toTargetError(error, "open what was left behind in", partial);
  }
  try {
    // The other process may do without locks, or the filesystem may know none.
    if (!isLockedHere(fd, kernel) || isOpenElsewhere(fd)) throw busy(partial);
    if (leadsTo(partial, fd)) fs.unlinkSync(partial);
  } finally {
    fs.closeSync(fd);
  }
}

/** False if somebody else has the lock. Where locks are not to be had, everything counts as locked. */
function isLockedHere(fd: number, kernel: Kernel | undefined): boolean {
  const errno = kernel?.lock(fd);
  if (errno === undefined || isUnsupported(errno) || errno === "ENOLCK") return true;
  if (errno === "EAGAIN" || errno === "EWOULDBLOCK") return false;
  throw new Error(`flock: ${errno}`);
}

/** Whether any process that can be looked at has the file open, this one's `fd` aside. */
function isOpenElsewhere(fd: number): boolean {
  const { dev, ino } = fs.fstatSync(fd);
  for (const id of listOrNothing("/proc")) {
    if (!/^\d+$/.test(id)) continue;
    for (const descriptor of listOrNothing(`/proc/${id}/fd`)) {
      const name = `/proc/${id}/fd/${descriptor}`;
      if (Number(id) === process.pid && descriptor === String(fd)) continue;
      const stat = statOrNothing(name);
      if (stat?.ino === ino && stat.dev === dev) return true;
    }
  }
  return false;
}

function listOrNothing(folder: string): string[] {
  try {
    return fs.readdirSync(folder);
  } catch {
    return []; // another user's process, or one that has just ended
  }
}

function statOrNothing(name: string): fs.Stats | undefined {
  try {
    return fs.statSync(name);
  } catch {
    return undefined;
  }
}

function busy(partial: string): TargetError {
  return new TargetError("TARGET_BUSY", `another process is writing ${partial}`, {
    remedy: "Wait for it, or choose another target.",
    context: { path: partial },
  });
}
