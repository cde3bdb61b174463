/**
 * A job pool that runs jobs in memory, some turns later and out of order, onto a disk in memory: what the stream's driver is
 * tested with.
 */
import { FormatError } from "../../formats/errors.ts";
import type { DiskOutlet } from "../../importer/engine/disk-outlet.ts";
import type { Job, JobResult } from "../../importer/engine/job.ts";
import { ITEM, ITEM_FIELDS, itemEncoding, itemField, PLAIN } from "../../importer/engine/job.ts";
import type { JobPool } from "../../importer/engine/job-pool.ts";
import { extentBytes } from "./parse.ts";

export interface MemoryDisk {
  readonly outlet: DiskOutlet;
  readonly jobs: Job[];
  /** [offset, length] of what was said to be zero. */
  readonly zeros: (readonly [number, number])[];
  /** What was written so far. */
  bytes(size: number): Buffer;
}

/** @param slab the stream's memory; @param delay how many later submissions a job may be kept back by */
export function memoryDisk(slab: SharedArrayBuffer, delay = 3): MemoryDisk {
  const pieces: [number, Uint8Array][] = [];
  const jobs: Job[] = [];
  const zeros: (readonly [number, number])[] = [];
  const waiting: { job: Job; done: ((result: JobResult) => void) | undefined }[] = [];
  const runOne = (index: number): void => {
    const [entry] = waiting.splice(index, 1);
    if (entry === undefined) return;
    run(entry.job, slab, pieces);
    entry.done?.({ zeroRanges: new Float64Array(0) });
  };
  const pool: JobPool = {
    submit(job, done) {
      jobs.push(job);
      waiting.push({ job, done });
      if (waiting.length > delay) runOne(waiting.length - 2);
      return Promise.resolve();
    },
    oneDone() {
      if (waiting.length === 0) return Promise.resolve(false);
      runOne(waiting.length - 1);
      return Promise.resolve(true);
    },
    async drain() {
      while (await pool.oneDone());
    },
    totals: () => {
      throw new Error("not counted");
    },
    close: () => Promise.resolve(),
  };
  const outlet: DiskOutlet = {
    pool,
    zero: (offset, length) => void zeros.push([offset, length]),
    inline: (bytes, offset) => void pieces.push([offset, Uint8Array.from(bytes)]),
    jobDone: () => undefined,
    settle: () => Promise.resolve(),
    checkFits: () => undefined,
  };
  return {
    outlet,
    jobs,
    zeros,
    bytes(size) {
      const disk = Buffer.alloc(size);
      for (const [offset, bytes] of pieces) disk.set(bytes, offset);
      return disk;
    },
  };
}

function run(job: Job, slab: SharedArrayBuffer, pieces: [number, Uint8Array][]): void {
  const memory = job.input.kind === "bytes" ? job.input.bytes : new Uint8Array(slab);
  for (let row = 0; row < job.items.length / ITEM_FIELDS; row++) {
    const field = (column: number): number => itemField(job.items, row, column);
    const bytes = memory.slice(field(ITEM.storedAt), field(ITEM.storedAt) + field(ITEM.storedLength));
    const [offset, length, stored] = [field(ITEM.offset), field(ITEM.length), bytes.length];
    if (field(ITEM.encoding) === PLAIN) {
      if (stored !== length) throw new FormatError("FORMAT_CORRUPT", "plain data is short");
      pieces.push([offset, bytes]);
      continue;
    }
    const encoded = { offset: 0, length: stored, decodedLength: field(ITEM.decodedLength), skip: field(ITEM.skip) };
    const extent = {
      kind: "data",
      offset,
      length,
      stored: { ...encoded, encoding: itemEncoding(job.items, row) },
    } as const;
    pieces.push([offset, Uint8Array.from(extentBytes(extent, bytes))]);
  }
}
