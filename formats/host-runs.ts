/**
 * Puts the blocks of a disk into the order in which they lie in the image file, for a single pass.
 *
 * Blocks are kept as runs that are contiguous on both sides: an image written in order is one run per data region,
 * however large, and one written by a guest a few thousand. The memory is bounded by the number of runs.
 */
import { MAX_ANNOUNCED } from "./disk-format.ts";
import type { Extent, Need } from "./disk-format.ts";
import { FormatError } from "./errors.ts";

/** 2 TiB of 1 MiB blocks without two in order; 40 MB of memory. */
export const MAX_RUNS = 2 ** 21;

const FIRST_CAPACITY = 1024;

/**
 * After so many extents the next ones are announced only when the pass has come to them, so that a driver need not hold
 * the map of a large fragmented disk.
 */
const EXTENTS_AHEAD = 8 * MAX_ANNOUNCED;

export interface HostRun {
  /** Index of the first block on the disk. */
  readonly block: number;
  /** Its place in the image file, in the format's unit. */
  readonly host: number;
  /** How many blocks follow each other. */
  readonly count: number;
}

export class HostRuns {
  readonly #stride: number;
  #blocks = new Uint32Array(FIRST_CAPACITY);
  #hosts = new Uint32Array(FIRST_CAPACITY);
  #counts = new Uint32Array(FIRST_CAPACITY);
  #size = 0;
  #ascending = true;

  /** @param stride how much further in the image file, in its unit, the next block of a run lies */
  constructor(stride: number) {
    this.#stride = stride;
  }

  get size(): number {
    return this.#size;
  }

  /**
   * @param block below 2^32
   * @param host below 2^32, in the format's unit
   * @throws FormatError FORMAT_OUT_OF_BOUNDS above MAX_RUNS
   */
  add(block: number, host: number): void {
    const last = this.#size - 1;
    if (last >= 0) {
      const count = this.#counts[last] ?? 0;
      const lastHost = this.#hosts[last] ?? 0;
      if (block === (this.#blocks[last] ?? 0) + count && host === lastHost + count * this.#stride) {
        this.#counts[last] = count + 1;
        return;
      }
      if (host < lastHost) this.#ascending = false;
    }
    this.#grow();
    this.#blocks[this.#size] = block;
    this.#hosts[this.#size] = host;
    this.#counts[this.#size] = 1;
    this.#size++;
  }

  /** The runs by ascending host offset; those added later are not seen. */
  *inHostOrder(): Generator<HostRun, void, undefined> {
    const keys = this.#ascending ? undefined : this.#sortedKeys();
    const size = this.#size;
    for (let i = 0; i < size; i++) {
      const at = keys === undefined ? i : (keys[i] ?? 0) % MAX_RUNS;
      yield { block: this.#blocks[at] ?? 0, host: this.#hosts[at] ?? 0, count: this.#counts[at] ?? 0 };
    }
  }

  // 32 bits of host place and 21 bits of index are exactly what a double holds, and doubles are sorted natively.
  #sortedKeys(): Float64Array {
    const keys = new Float64Array(this.#size);
    for (let i = 0; i < keys.length; i++) keys[i] = (this.#hosts[i] ?? 0) * MAX_RUNS + i;
    return keys.sort();
  }

  #grow(): void {
    if (this.#size < this.#blocks.length) return;
    if (this.#size >= MAX_RUNS) {
      throw new FormatError(
        "FORMAT_OUT_OF_BOUNDS",
        `the disk lies in more than ${MAX_RUNS} pieces in the image file, too many to place in a single pass`,
        { remedy: "Convert it from a local file or from a server that answers ranges.", context: { limit: MAX_RUNS } },
      );
    }
    this.#blocks = doubled(this.#blocks);
    this.#hosts = doubled(this.#hosts);
    this.#counts = doubled(this.#counts);
  }
}

function doubled(array: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(array.length * 2);
  larger.set(array);
  return larger;
}

/** Announces plain extents that come in host order, in bounded batches. */
export function* announce(
  extents: Iterable<Extent>,
): Generator<Need | readonly Extent[], void, Uint8Array | undefined> {
  let batch: Extent[] = [];
  let ahead = 0;
  for (const extent of extents) {
    if (batch.length === MAX_ANNOUNCED) {
      yield batch;
      ahead += batch.length;
      batch = [];
    }
    if (ahead >= EXTENTS_AHEAD && extent.kind === "data" && extent.stored.encoding !== "inline") {
      yield { offset: extent.stored.offset, length: 1, peek: true };
      ahead = 0;
    }
    batch.push(extent);
  }
  if (batch.length > 0) yield batch;
}
