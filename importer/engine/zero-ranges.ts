/**
 * Ranges of the disk that must read as zeros on a target that does not start zeroed: gathered, merged, and zeroed by the
 * target's own means, or else written.
 */
import type { Target } from "../targets/target.ts";

/** One call of the target zeroes at most this, so that signals and progress are not kept waiting. */
const MAX_ZERO_LENGTH = 1024 * 1024 * 1024;

/** At most this many ranges are gathered before they are merged and zeroed. */
const MAX_RANGES = 16_384;

const zeros = Buffer.alloc(1024 * 1024);

export class ZeroRanges {
  readonly #target: Target;
  #ranges: [start: number, end: number][] = [];
  /** Bytes that were written as zeros because the target had no other way. */
  writtenZeros = 0;
  /** Bytes that the target made read as zeros. */
  zeroed = 0;

  constructor(target: Target) {
    this.#target = target;
  }

  add(offset: number, length: number): void {
    if (this.#target.startsZeroed) return;
    const last = this.#ranges.at(-1);
    if (last !== undefined && last[1] === offset) last[1] = offset + length;
    else this.#ranges.push([offset, offset + length]);
    if (this.#ranges.length >= MAX_RANGES) this.apply();
  }

  /** Zeroes all that was gathered. Ranges are disjoint, and none overlaps data that is written. */
  apply(): void {
    const ranges = this.#ranges.sort((a, b) => a[0] - b[0]);
    this.#ranges = [];
    let start = 0;
    let end = 0;
    for (const range of ranges) {
      if (range[0] !== end) {
        this.#zero(start, end);
        start = range[0];
      }
      end = range[1];
    }
    this.#zero(start, end);
  }

  #zero(start: number, end: number): void {
    for (let at = start; at < end; at += MAX_ZERO_LENGTH) {
      const length = Math.min(MAX_ZERO_LENGTH, end - at);
      if (this.#target.zeroAt(at, length)) this.zeroed += length;
      else this.#write(at, length);
    }
  }

  #write(offset: number, length: number): void {
    for (let at = 0; at < length; at += zeros.length) {
      this.#target.writeAt(zeros.subarray(0, Math.min(zeros.length, length - at)), offset + at);
    }
    this.writtenZeros += length;
  }
}
