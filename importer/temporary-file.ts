/**
 * A copy of a stream in a file without a name, for commands that must look at an image in any order (`map`, `compare`).
 * Importing never needs one.
 */
import fs from "node:fs";
import path from "node:path";
import { randomUUID } from "node:crypto";
import { readFully } from "../formats/byte-stream.ts";
import type { ByteStream } from "../formats/byte-stream.ts";
import { isZero } from "./engine/zero-search.ts";
import { toTargetError } from "./errors.ts";
import { openRandomAccess } from "./random-access.ts";
import type { LocalAccess } from "./random-access.ts";

const BLOCK = 1024 * 1024;

/** A file of `openUnnamed` that still has its name: a process was killed within the moment between the two. */
export const TEMPORARY_NAME = /^\.decant-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Copies the stream to its end, sparsely.
 * @param folder where the file's space is taken from
 * @returns the copy; closing its descriptor frees the space
 */
export async function copyToTemporary(stream: ByteStream, folder: string): Promise<LocalAccess> {
  const fd = openUnnamed(folder);
  try {
    const block = Buffer.allocUnsafe(BLOCK);
    let size = 0;
    for (;;) {
      const count = await readFully(stream, block);
      if (count === 0) break;
      if (!isZero(block, 0, count)) write(fd, block.subarray(0, count), size, folder);
      size += count;
    }
    fs.ftruncateSync(fd, size);
    return openRandomAccess({ fd, name: "the unwrapped image", size });
  } catch (error) {
    fs.closeSync(fd);
    throw error;
  }
}

/** Opens a file for reading and writing that has no name: its space is free again when it is closed, whatever happens. */
export function openUnnamed(folder: string): number {
  const name = path.join(folder, `.decant-${randomUUID()}`);
  const { O_RDWR, O_CREAT, O_EXCL, O_NOFOLLOW } = fs.constants;
  try {
    const fd = fs.openSync(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    fs.unlinkSync(name);
    return fd;
  } catch (error) {
    throw toTargetError(error, "create a temporary file in", folder);
  }
}

function write(fd: number, bytes: Buffer, offset: number, folder: string): void {
  try {
    for (let done = 0; done < bytes.length;) {
      done += fs.writeSync(fd, bytes, done, bytes.length - done, offset + done);
    }
  } catch (error) {
    throw toTargetError(error, "write a temporary file in", folder);
  }
}
