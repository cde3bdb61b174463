/**
 * A volume whose disk is slow: ext4 on a loop device over a file that nbdkit serves at a limited rate. Needs root and
 * /dev/fuse. Pages written to it stay dirty until that disk has taken them, as on a bad day of a storage system.
 */
import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { unmount } from "./loop-device.ts";
import { requireLoopDevices, requireTools } from "./tools.ts";

export interface SlowDiskOptions {
  /** Bytes. */
  readonly size: number;
  /** Bytes a second. */
  readonly rate: number;
}

/** False if a slow disk can be made here, else the reason. */
export function requireSlowDisks(): false | string {
  const reason = requireLoopDevices() || requireTools("nbdkit", "nbdfuse", "mke2fs", "mount", "umount");
  if (reason !== false) return reason;
  return fs.existsSync("/dev/fuse") ? false : "needs /dev/fuse";
}

/**
 * Calls `body` with the folder that the volume is mounted on.
 * @param folder an empty one, for all that it takes
 */
export async function withSlowDisk<T>(
  folder: string,
  { size, rate }: SlowDiskOptions,
  body: (volume: string) => Promise<T>,
): Promise<T> {
  const backing = path.join(folder, "slow.img");
  const [fuse, volume] = [path.join(folder, "fuse"), path.join(folder, "volume")];
  fs.writeFileSync(backing, "");
  fs.truncateSync(backing, size);
  execFileSync("mke2fs", ["-q", "-F", "-t", "ext4", backing]);
  for (const each of [fuse, volume]) fs.mkdirSync(each);
  const nbdkit = ["nbdkit", "--exit-with-parent", "--filter=rate", "file", backing, `rate=${8 * rate}`];
  const server = spawn("nbdfuse", [fuse, "[", ...nbdkit, "]"], { stdio: "ignore" });
  const ended = new Promise((resolve) => server.on("close", resolve));
  const disk = path.join(fuse, "nbd");
  try {
    for (let tries = 0; !fs.existsSync(disk); tries++) {
      if (tries === 400) throw new Error("nbdfuse does not start");
      await sleep(25);
    }
    const device = execFileSync("losetup", ["--find", "--show", disk], { encoding: "utf8" }).trim();
    try {
      execFileSync("mount", [device, volume]);
      try {
        return await body(volume);
      } finally {
        await unmount(volume);
      }
    } finally {
      execFileSync("losetup", ["-d", device]);
    }
  } finally {
    await unmount(fuse).finally(() => server.kill("SIGTERM"));
    await ended;
  }
}
