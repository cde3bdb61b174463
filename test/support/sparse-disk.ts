/**
 * A large sparse disk in a file, quickly made: pieces of data all over it, holes between them, and in every cluster some
 * bytes that compress and some that do not.
 */
import { createCipheriv } from "node:crypto";
import fs from "node:fs";

const POOL_LENGTH = 8 * 1024 * 1024;
const CLUSTER = 64 * 1024;
/** Of each cluster; the rest is text. Little, because xz takes a second for each 5 MB of it. */
const RANDOM_LENGTH = 3 * 1024;
const PIECE = 1024 * 1024;

export interface SparseDiskSize {
  /** Bytes. */
  readonly virtualSize: number;
  readonly dataBytes: number;
}

/** The same size gives the same disk. */
export function makeSparseDisk(file: string, { virtualSize, dataBytes }: SparseDiskSize): void {
  const pool = dataPool();
  const pieces = Math.floor(dataBytes / PIECE);
  const fd = fs.openSync(file, "w");
  try {
    fs.ftruncateSync(fd, virtualSize);
    for (let piece = 0; piece < pieces; piece++) {
      // Every other place is an odd cluster, so that pieces do not start where the tables of a format do.
      const place = Math.floor((piece * virtualSize) / pieces / PIECE) * PIECE + (piece % 2) * CLUSTER;
      const length = Math.min(PIECE, virtualSize - place);
      fs.writeSync(fd, pool, (piece * PIECE) % POOL_LENGTH, length, place);
    }
  } finally {
    fs.closeSync(fd);
  }
}

function dataPool(): Buffer {
  const pool = createCipheriv("aes-128-ctr", Buffer.alloc(16, 7), Buffer.alloc(16)).update(Buffer.alloc(POOL_LENGTH));
  for (let at = 0; at < POOL_LENGTH; at += CLUSTER) {
    pool.fill(
      `cluster ${at} holds lines of text that repeat themselves, as logs do\n`,
      at + RANDOM_LENGTH,
      at + CLUSTER,
    );
  }
  return pool;
}
