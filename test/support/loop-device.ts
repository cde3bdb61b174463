/**
 * Real devices and filesystems for a test: a loop device with sectors of 512 or 4096 bytes, a small tmpfs, a small ext4 or
 * ext2. Needs root. Whatever the test does, the device is detached by its exact name and the mount is taken away.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { randomFillSync } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export interface LoopDeviceOptions {
  /** Bytes. */
  readonly size: number;
  readonly sectorSize?: 512 | 4096;
  /** Default: random bytes, so that what is not written shows. */
  readonly fill?: "random" | "zeros";
  /** Where the file behind it lies; default: a temporary folder. */
  readonly folder?: string;
}

type Body<T> = (path: string, backingFile: string) => T | Promise<T>;

/** Calls `body` with the path of a loop device, and the path of the file behind it. */
export async function withLoopDevice<T>(options: LoopDeviceOptions, body: Body<T>): Promise<T> {
  return await withFolder(async (folder) => {
    const backing = path.join(options.folder ?? folder, "backing.img");
    fill(backing, options);
    const device = attach(backing, options.sectorSize ?? 512);
    try {
      return await body(device, backing);
    } finally {
      execFileSync("losetup", ["-d", device]);
    }
  });
}

/**
 * Tells the kernel of a partition of `device`, without a table on it. It goes when the device is detached.
 * @param start,length bytes
 * @returns its path
 */
export function addPartition(device: string, number: number, start: number, length: number): string {
  // addpart is in util-linux, which every Debian has.
  execFileSync("addpart", [device, String(number), String(start / 512), String(length / 512)]);
  return `${device}p${number}`;
}

/** Calls `body` with the folder that a tmpfs of `size` bytes is mounted on. */
export async function withTmpfs<T>(size: number, body: (folder: string) => T | Promise<T>): Promise<T> {
  return await withMount(["-t", "tmpfs", "-o", `size=${size}`, "tmpfs"], body);
}

/** Calls `body` with the folder that a ramfs is mounted on: a filesystem that refuses O_DIRECT. */
export async function withRamfs<T>(body: (folder: string) => T | Promise<T>): Promise<T> {
  return await withMount(["-t", "ramfs", "ramfs"], body);
}

async function withMount<T>(what: readonly string[], body: (folder: string) => T | Promise<T>): Promise<T> {
  return await withFolder(async (folder) => {
    execFileSync("mount", [...what, folder]);
    try {
      return await body(folder);
    } finally {
      await unmount(folder);
    }
  });
}

/** The kernel lets go of a file behind a loop device a moment after that was detached; until then its filesystem is busy. */
export async function unmount(folder: string): Promise<void> {
  for (let tries = 0; ; tries++) {
    const { status, stderr } = spawnSync("umount", [folder], { encoding: "utf8" });
    if (status === 0) return;
    if (tries === MAX_UNMOUNTS) throw new Error(`umount: ${stderr}`);
    await sleep(25);
  }
}

/** Five seconds. */
const MAX_UNMOUNTS = 200;

/** Calls `body` with the folder that an ext4 on a loop device of `size` bytes is mounted on. */
export async function withExt4<T>(size: number, body: (folder: string, device: string) => T | Promise<T>): Promise<T> {
  return await withFilesystem(size, ["-t", "ext4", "-b", "4096"], body);
}

/** As `withExt4`, without what ext4 adds: files cannot be preallocated, and holes cannot be punched. */
export async function withExt2<T>(size: number, body: (folder: string, device: string) => T | Promise<T>): Promise<T> {
  return await withFilesystem(size, ["-t", "ext2", "-b", "4096"], body);
}

async function withFilesystem<T>(
  size: number,
  format: readonly string[],
  body: (folder: string, device: string) => T | Promise<T>,
): Promise<T> {
  return await withLoopDevice({ size, fill: "zeros" }, async (device) => {
    execFileSync("mke2fs", ["-q", "-F", ...format, device]);
    return await withMount([device], (folder) => body(folder, device));
  });
}

/** Calls `body` with an empty temporary folder, which is removed with all that is in it. */
export async function withFolder<T>(body: (folder: string) => T | Promise<T>): Promise<T> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "decant-target-"));
  try {
    return await body(folder);
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

function fill(file: string, options: LoopDeviceOptions): void {
  if (options.fill === "zeros") {
    fs.writeFileSync(file, "");
    fs.truncateSync(file, options.size);
  } else {
    fs.writeFileSync(file, randomFillSync(Buffer.alloc(options.size)));
  }
}

function attach(file: string, sectorSize: number): string {
  const args = ["--find", "--show", "--partscan", "--sector-size", String(sectorSize), file];
  return execFileSync("losetup", args, { encoding: "utf8" }).trim();
}
