/**
 * A job: what one thread does in one go. Reads a run of the image file (or is given its bytes), decodes, writes.
 *
 * Jobs cross between threads, so a job is small typed arrays: one row of ITEM_FIELDS numbers an extent.
 */
import type { EncodedStored, Stored } from "../../formats/disk-format.ts";

/** What a thread is sent after its last job. */
export const STOP = "stop";

/** Columns of a row. */
export const ITEM = {
  encoding: 0,
  /** Virtual offset. */
  offset: 1,
  length: 2,
  /** Where the stored bytes start: a host offset if the job reads, else a position in the bytes that came with it. */
  storedAt: 3,
  storedLength: 4,
  decodedLength: 5,
  skip: 6,
} as const;
export const ITEM_FIELDS = 7;

export const PLAIN = 0;
/** A number for each encoding, in numeric rows. */
export const ENCODINGS: readonly ("plain" | EncodedStored["encoding"])[] = [
  "plain",
  "deflate",
  "zlib",
  "zstd",
  "vmdk-grain",
];

export type JobInput =
  /** Read [offset, offset + length) of the image file. */
  | { readonly kind: "file"; readonly offset: number; readonly length: number }
  /** Bytes in the slab that all threads share; positions count from its start. */
  | { readonly kind: "slab" }
  /** Bytes of the job's own, handed over. */
  | { readonly kind: "bytes"; readonly bytes: Uint8Array };

export interface Job {
  readonly input: JobInput;
  readonly items: Float64Array;
}

/** As it is sent to a thread, which may end a later one first. */
export interface NumberedJob {
  readonly number: number;
  readonly job: Job;
}

export interface JobResult {
  /** [virtual offset, length] pairs that turned out to be zeros and were not written; empty where the target starts zeroed. */
  readonly zeroRanges: Float64Array;
}

/** Writes row `row` of `items`. */
export function setItem(
  items: Float64Array,
  row: number,
  item: { readonly offset: number; readonly length: number; readonly stored: Exclude<Stored, { encoding: "inline" }> },
  storedAt: number,
): void {
  const { stored } = item;
  const at = row * ITEM_FIELDS;
  items[at + ITEM.encoding] = ENCODINGS.indexOf(stored.encoding);
  items[at + ITEM.offset] = item.offset;
  items[at + ITEM.length] = item.length;
  items[at + ITEM.storedAt] = storedAt;
  items[at + ITEM.storedLength] = stored.length;
  items[at + ITEM.decodedLength] = stored.encoding === "plain" ? stored.length : stored.decodedLength;
  items[at + ITEM.skip] = stored.encoding === "plain" ? 0 : stored.skip;
}

/** Field `column` of row `row`. */
export function itemField(items: Float64Array, row: number, column: number): number {
  return items[row * ITEM_FIELDS + column] ?? 0;
}

/** The encoding of row `row`; not for PLAIN rows. */
export function itemEncoding(items: Float64Array, row: number): EncodedStored["encoding"] {
  const name = ENCODINGS[itemField(items, row, ITEM.encoding)];
  if (name === undefined || name === "plain") throw new Error(`row ${row} is not encoded`);
  return name;
}
