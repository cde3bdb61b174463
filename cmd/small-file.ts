/**
 * Files that a person names on the command line: headers, passwords. Bounded, and readable from a pipe too:
 * `--header-file <(pass show token)` leaves nothing on the disk.
 */
import fs from "node:fs";
import { UsageError } from "../importer/errors.ts";

export interface SmallFile {
  readonly bytes: Buffer;
  /** A regular file that its group or everybody may read. */
  readonly isOpenToOthers: boolean;
}

/** @throws UsageError if it is not there, cannot be read, or has more than `limit` bytes */
export function readSmallFile(file: string, limit: number): SmallFile {
  let fd: number;
  try {
    fd = fs.openSync(file, "r");
  } catch (error) {
    throw unreadable(file, error);
  }
  try {
    const stat = fs.fstatSync(fd);
    return { bytes: readUpTo(fd, file, limit), isOpenToOthers: stat.isFile() && (stat.mode & 0o044) !== 0 };
  } finally {
    fs.closeSync(fd);
  }
}

function readUpTo(fd: number, file: string, limit: number): Buffer {
  const bytes = Buffer.alloc(limit + 1);
  let length = 0;
  try {
    for (let count = -1; count !== 0 && length < bytes.length; length += count) {
      count = fs.readSync(fd, bytes, length, bytes.length - length, null);
    }
  } catch (error) {
    throw unreadable(file, error);
  }
  if (length > limit) throw new UsageError(`${file} has more than ${limit} bytes`);
  return bytes.subarray(0, length);
}

function unreadable(file: string, error: unknown): UsageError {
  const { code = "unknown" } = error as NodeJS.ErrnoException;
  if (code === "ENOENT") return new UsageError(`there is no file ${file}`, { cause: error });
  return new UsageError(`cannot read ${file} (${code})`, { cause: error });
}
