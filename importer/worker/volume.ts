/**
 * The volume that the disk is poured into: which kind it is, what earlier attempts left in it, and how much it has.
 *
 * Leftovers go first: a disk of an attempt that was killed would else count as space that is taken, and no attempt would
 * ever succeed again. Only what this program makes is removed, and an old disk.img, which a new one replaces.
 */
import fs from "node:fs";
import path from "node:path";
import type { WorkerConfig } from "../config.ts";
import { errnoName, TargetError, toTargetError } from "../errors.ts";
import { deviceSize, loadKernel } from "../kernel.ts";
import type { Volume } from "../target-size.ts";
import { partialPath, removeLeftover } from "../targets/partial-file.ts";
import { TEMPORARY_NAME } from "../temporary-file.ts";
import { DISK_NAME } from "./paths.ts";
import type { WorkerPaths } from "./paths.ts";

/** Any answer but "there is no such file" says that the volume is a device; what is wrong with it is found out later. */
export function volumeKind(paths: WorkerPaths): Volume["kind"] {
  try {
    fs.statSync(paths.device);
    return "block";
  } catch (error) {
    return errnoName(error) === "ENOENT" ? "filesystem" : "block";
  }
}

/**
 * Removes what earlier attempts left on a filesystem volume and in the scratch folder.
 * @param keepsDisk the disk in place is no leftover: it is continued, or belongs to an archive's tree
 * @returns the removed files, for the log
 * @throws TargetError TARGET_BUSY if a process is at work there, else by errno
 */
export function removeLeftovers(paths: WorkerPaths, keepsDisk: boolean): readonly string[] {
  const disk = path.join(paths.data, DISK_NAME);
  const partial = partialPath(disk);
  const temporary = [paths.data, paths.scratch].flatMap(temporaryFilesIn);
  const leftovers = [...(keepsDisk ? [] : [disk]), partial, ...temporary].filter(isFileOrLink);
  for (const name of leftovers) {
    try {
      if (name === partial) removeLeftover(partial, loadKernel());
      else fs.rmSync(name, { force: true });
    } catch (error) {
      throw toTargetError(error, "remove what an earlier attempt left in", name);
    }
  }
  return leftovers;
}

/**
 * What is there now.
 * @throws TargetError where nobody can tell, or the device is not this user's
 */
export function probeVolume(kind: Volume["kind"], paths: WorkerPaths, config: WorkerConfig): Volume {
  if (kind === "block") return { kind, capacity: probeDevice(paths.device) };
  return { kind, free: freeSpace(paths.data), requested: config.imageSize, overhead: config.filesystemOverhead };
}

/** What an ordinary user may still write to the folder's filesystem, bytes. @throws TargetError */
export function freeSpace(folder: string): number {
  try {
    const { bavail, bsize } = fs.statfsSync(folder);
    return bavail * bsize;
  } catch (error) {
    throw toTargetError(error, "look at the space of", folder);
  }
}

function probeDevice(device: string): number {
  try {
    const fd = fs.openSync(device, "r");
    try {
      const stat = fs.fstatSync(fd);
      if (stat.isBlockDevice()) return deviceSize(fd, stat.rdev);
      throw new TargetError("TARGET_DENIED", `${device} is no block device`, { context: { path: device } });
    } finally {
      fs.closeSync(fd);
    }
  } catch (error) {
    const errno = errnoName(error);
    if (errno === "EACCES" || errno === "EPERM") throw notOurs(device, error);
    throw toTargetError(error, "learn the size of", device);
  }
}

/** Container runtimes leave devices to root unless they are told otherwise: by far the most frequent reason. */
function notOurs(device: string, cause: unknown): TargetError {
  const stat = fs.statSync(device, { throwIfNoEntry: false });
  const owner = stat === undefined ? "somebody else" : `user ${stat.uid} and group ${stat.gid}`;
  return new TargetError("TARGET_DENIED", `cannot open ${device}: Permission denied, it belongs to ${owner}`, {
    remedy: "Set device_ownership_from_security_context = true in the node's container runtime (containerd, CRI-O).",
    context: { path: device, uid: stat?.uid, gid: stat?.gid },
    cause,
  });
}

function temporaryFilesIn(folder: string): string[] {
  try {
    const names = fs.readdirSync(folder).filter((name) => TEMPORARY_NAME.test(name));
    return names.sort().map((name) => path.join(folder, name));
  } catch {
    return []; // no scratch, or no volume: the probe says so
  }
}

function isFileOrLink(name: string): boolean {
  try {
    const stat = fs.lstatSync(name);
    return stat.isFile() || stat.isSymbolicLink();
  } catch {
    return false; // it is not there, or cannot be: the target says so
  }
}
