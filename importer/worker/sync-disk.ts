/**
 * The last act of an import: what was written is flushed once more through a descriptor of its own, whoever wrote it.
 */
import fs from "node:fs";
import { toTargetError } from "../errors.ts";
import { contractLines } from "./log.ts";
import type { Log } from "./log.ts";

/**
 * @param path a file, a device, or the folder of an unpacked archive
 * @throws TargetError TARGET_IO
 */
export function syncDisk(path: string, log: Log): void {
  try {
    const fd = fs.openSync(path, "r");
    try {
      fs.fsyncSync(fd);
    } finally {
      fs.closeSync(fd);
    }
  } catch (error) {
    throw toTargetError(error, "flush", path);
  }
  log.detail(contractLines.syncedLevel, contractLines.synced(path));
}
