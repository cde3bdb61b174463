/**
 * Bytes of a stream that went by before anybody knew what they are for: in memory up to a bound, then in a spill file at
 * their host offsets, if there is a place for one.
 */
import { SourceError } from "../errors.ts";

/** The most bytes held in memory. Images that qemu-img or a guest wrote hold well under a tenth of it. */
export const MAX_HELD_BYTES = 24 * 1024 * 1024;

/** What one held range costs beside its bytes. */
const RANGE_OVERHEAD = 128;

/**
 * How far a stream moves on before the tail of a compressed cluster is forgotten. Such a tail (the last 511 bytes of the
 * upper bound) belongs to nobody, or to the next cluster written, whose L2 table then follows within a cluster or two.
 */
const TAIL_WINDOW = 16 * 1024 * 1024;

/** Where the overflow goes. */
export interface Spill {
  write(bytes: Uint8Array, offset: number): void;
  read(into: Uint8Array, offset: number): void;
  close(): void;
}

interface Held {
  readonly start: number;
  readonly end: number;
  /** Undefined: in the spill file. */
  readonly bytes: Uint8Array | undefined;
}

export class Hold {
  #held: Held[] = [];
  #tails: Held[] = [];
  #heldBytes = 0;
  #spilledBytes = 0;
  readonly #openSpill: () => Spill;
  #spill: Spill | undefined;

  /** @param openSpill called once, when memory is full; throws where there is no place */
  constructor(openSpill: () => Spill) {
    this.#openSpill = openSpill;
  }

  get spilledBytes(): number {
    return this.#spilledBytes;
  }

  /** Keeps a copy of `bytes`. Ranges come in ascending order mostly, and never overlap what is held. */
  put(start: number, bytes: Uint8Array, isTail: boolean): void {
    const cost = bytes.length + RANGE_OVERHEAD;
    const end = start + bytes.length;
    if (isTail) {
      insert(this.#tails, { start, end, bytes: Uint8Array.from(bytes) });
    } else if (this.#heldBytes + cost <= MAX_HELD_BYTES) {
      this.#heldBytes += cost;
      insert(this.#held, { start, end, bytes: Uint8Array.from(bytes) });
    } else {
      this.#spill ??= this.#openSpill();
      this.#spill.write(bytes, start);
      this.#spilledBytes += bytes.length;
      insert(this.#held, { start, end, bytes: undefined });
    }
  }

  /** The held bytes from `offset` on, at most `length`, as one piece; undefined if the byte at `offset` is not held. */
  read(offset: number, length: number): Uint8Array | undefined {
    for (const list of [this.#held, this.#tails]) {
      const range = list[firstEndingAfter(list, offset)];
      if (range === undefined || range.start > offset) continue;
      const end = Math.min(offset + length, range.end);
      if (range.bytes !== undefined) return range.bytes.subarray(offset - range.start, end - range.start);
      const bytes = new Uint8Array(Math.min(end - offset, MAX_SPILL_READ));
      if (this.#spill === undefined) throw new SourceError("SOURCE_UNAVAILABLE", "the spill file is gone");
      this.#spill.read(bytes, offset);
      return bytes;
    }
    return undefined;
  }

  /** Drops [start, end): its bytes were used, or never will be. */
  forget(start: number, end: number): void {
    this.#held = this.#without(this.#held, start, end, true);
    this.#tails = this.#without(this.#tails, start, end, false);
  }

  close(): void {
    this.#spill?.close();
    this.#spill = undefined;
  }

  /** Drops tails that lie far behind `position`. */
  forgetTails(position: number): void {
    const keep = firstEndingAfter(this.#tails, position - TAIL_WINDOW);
    if (keep > 0) this.#tails = this.#tails.slice(keep);
  }

  #without(list: Held[], start: number, end: number, counted: boolean): Held[] {
    const first = firstEndingAfter(list, start);
    let last = first;
    const rests: Held[] = [];
    for (; last < list.length; last++) {
      const range = list[last];
      if (range === undefined || range.start >= end) break;
      if (counted && range.bytes !== undefined) this.#heldBytes -= range.end - range.start + RANGE_OVERHEAD;
      for (const [from, to] of [
        [range.start, Math.min(start, range.end)],
        [Math.max(end, range.start), range.end],
      ] as const) {
        if (from >= to) continue;
        const bytes = range.bytes?.slice(from - range.start, to - range.start);
        if (counted && bytes !== undefined) this.#heldBytes += bytes.length + RANGE_OVERHEAD;
        rests.push({ start: from, end: to, bytes });
      }
    }
    if (last > first) list.splice(first, last - first, ...rests);
    return list;
  }
}

/** A spilled range is read back in pieces of at most this. */
const MAX_SPILL_READ = 1024 * 1024;

function insert(list: Held[], range: Held): void {
  const last = list.at(-1);
  if (last === undefined || last.end <= range.start) list.push(range);
  else list.splice(firstEndingAfter(list, range.start), 0, range);
}

function firstEndingAfter(list: readonly Held[], offset: number): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((list[middle]?.end ?? 0) <= offset) low = middle + 1;
    else high = middle;
  }
  return low;
}
