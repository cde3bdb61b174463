/**
 * Plans: gathers data extents in batches, sorts them by host offset, and cuts them into jobs that each read one contiguous
 * run of the image file.
 *
 * Host order makes a run of many clusters one read (or one HTTP range), whatever the order in which the guest wrote them.
 */
import type { Stored } from "../../formats/disk-format.ts";
import { ITEM, ITEM_FIELDS, PLAIN, setItem } from "./job.ts";
import type { Job } from "./job.ts";

/** At most this many extents are held before they become jobs: 3.5 MiB of numbers. */
export const MAX_BATCH = 65_536;

/** The most bytes one job reads, unless a single extent's encoded bytes are more. */
export const RUN_LENGTH = 2 * 1024 * 1024;

/** Over the network, where every thread has several on their way: half as much memory, and as fast on loopback. */
export const REMOTE_RUN_LENGTH = 1024 * 1024;

/** The same for encoded extents, whose decoding takes far longer than a second read: it is memory of every thread. */
const ENCODED_RUN_LENGTH = 1024 * 1024;

/** A gap between two extents up to this is read along: a second read costs more. */
const MAX_GAP = 64 * 1024;

export interface DataExtent {
  readonly offset: number;
  readonly length: number;
  readonly stored: Exclude<Stored, { encoding: "inline" }>;
}

export class JobPlanner {
  readonly #hostSize: number;
  readonly #runLength: number;
  readonly #items = new Float64Array(MAX_BATCH * ITEM_FIELDS);
  #count = 0;

  /**
   * @param hostSize  length of the image file; no job reads past it
   * @param runLength the most bytes one job reads of plain extents
   */
  constructor(hostSize: number, runLength = RUN_LENGTH) {
    this.#hostSize = hostSize;
    this.#runLength = runLength;
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  get isFull(): boolean {
    return this.#count === MAX_BATCH;
  }

  add(extent: DataExtent): void {
    setItem(this.#items, this.#count, extent, extent.stored.offset);
    this.#count += 1;
  }

  /** The jobs of the batch, in host order; afterwards the planner is empty. */
  *jobs(): Generator<Job> {
    const order = this.#hostOrder();
    let run = new Run(this.#hostSize, this.#runLength);
    for (const row of order) {
      const item = this.#items.subarray(row * ITEM_FIELDS, (row + 1) * ITEM_FIELDS);
      for (const piece of pieces(item, this.#runLength)) {
        if (!run.takes(piece)) {
          yield run.job();
          run = new Run(this.#hostSize, this.#runLength);
        }
        run.add(piece);
      }
    }
    if (!run.isEmpty) yield run.job();
    this.#count = 0;
  }

  #hostOrder(): Uint32Array {
    const order = new Uint32Array(this.#count);
    let sorted = true;
    let previous = -1;
    for (let row = 0; row < this.#count; row++) {
      order[row] = row;
      const at = this.#items[row * ITEM_FIELDS + ITEM.storedAt] ?? 0;
      if (at < previous) sorted = false;
      previous = at;
    }
    const at = (row: number): number => this.#items[row * ITEM_FIELDS + ITEM.storedAt] ?? 0;
    return sorted ? order : order.sort((a, b) => at(a) - at(b));
  }
}

/** A long plain extent in pieces of at most `runLength` that start at its multiples; everything else whole. */
function* pieces(item: Float64Array, runLength: number): Generator<Float64Array> {
  const length = item[ITEM.length] ?? 0;
  if (item[ITEM.encoding] !== PLAIN || length <= runLength) {
    yield item;
    return;
  }
  for (let at = 0; at < length; at += runLength) {
    const piece = Float64Array.from(item);
    piece[ITEM.offset] = (item[ITEM.offset] ?? 0) + at;
    piece[ITEM.storedAt] = (item[ITEM.storedAt] ?? 0) + at;
    piece[ITEM.length] = Math.min(runLength, length - at);
    piece[ITEM.storedLength] = Math.min(runLength, length - at);
    yield piece;
  }
}

/** Extents that one read serves. */
class Run {
  readonly #hostSize: number;
  readonly #runLength: number;
  readonly #rows: Float64Array[] = [];
  #start = 0;
  #end = 0;

  constructor(hostSize: number, runLength: number) {
    this.#hostSize = hostSize;
    this.#runLength = runLength;
  }

  get isEmpty(): boolean {
    return this.#rows.length === 0;
  }

  takes(item: Float64Array): boolean {
    if (this.isEmpty) return true;
    const start = item[ITEM.storedAt] ?? 0;
    const end = start + (item[ITEM.storedLength] ?? 0);
    // Two extents may share bytes of the file, and the pieces of a long one come before the next extent's.
    if (start < this.#start) return false;
    const longest = item[ITEM.encoding] === PLAIN ? this.#runLength : ENCODED_RUN_LENGTH;
    return start - this.#end <= MAX_GAP && Math.max(end, this.#end) - this.#start <= longest;
  }

  add(item: Float64Array): void {
    const start = item[ITEM.storedAt] ?? 0;
    const end = start + (item[ITEM.storedLength] ?? 0);
    if (this.isEmpty) this.#start = start;
    this.#end = Math.max(this.#end, end);
    this.#rows.push(item);
  }

  job(): Job {
    const items = new Float64Array(this.#rows.length * ITEM_FIELDS);
    for (const [row, values] of this.#rows.entries()) items.set(values, row * ITEM_FIELDS);
    const end = Math.min(this.#end, this.#hostSize);
    return { input: { kind: "file", offset: this.#start, length: Math.max(0, end - this.#start) }, items };
  }
}
