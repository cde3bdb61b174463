/**
 * Ranges of the disk that must read as zeros on a target that does not start zeroed: gathered, merged, and zeroed by the
 * target's own means, or else written.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { Interrupted } from "../errors.ts";
import type { Target } from "../targets/target.ts";

/** One call zeroes at most this, so that signals and progress are not kept waiting by a device that has to write it all. */
const MAX_ZERO_LENGTH = 64 * 1024 * 1024;

/** At most this many ranges are gathered before they are merged and zeroed. */
const MAX_RANGES = 16_384;

const zeros = Buffer.alloc(1024 * 1024);

export class ZeroRanges {
  readonly #target: Target;
  readonly #signal: AbortSignal | undefined;
  /** The disk reads as zeros up to here, but for what was written. */
  #zeroUntil: number;
  #ranges: [start: number, end: number][] = [];
  /** Bytes that were written as zeros because the target had no other way. */
  writtenZeros = 0;
  /** Bytes that the target made read as zeros. */
  zeroed = 0;

  /** @param signal ends what is being zeroed, which may take long */
  constructor(target: Target, signal?: AbortSignal) {
    this.#target = target;
    this.#signal = signal;
    this.#zeroUntil = target.startsZeroed ? Infinity : 0;
  }

  add(offset: number, length: number): void {
    const start = Math.max(offset, this.#zeroUntil);
    const end = offset + length;
    if (start >= end) return;
    const last = this.#ranges.at(-1);
    if (last !== undefined && last[1] === start) last[1] = end;
    else this.#ranges.push([start, end]);
  }

  /** Zeroes the disk before anything is written to it. */
  async zeroFirst(size: number): Promise<void> {
    this.add(0, size);
    await this.apply();
    this.#zeroUntil = Math.max(this.#zeroUntil, size);
  }

  /** Zeroes what was gathered if it has become much. */
  async settle(): Promise<void> {
    if (this.#ranges.length >= MAX_RANGES) await this.apply();
  }

  /**
   * Zeroes all that was gathered. Ranges are disjoint, and none overlaps data that is written.
   * @throws TargetError, Interrupted
   */
  async apply(): Promise<void> {
    const ranges = this.#ranges.sort((a, b) => a[0] - b[0]);
    this.#ranges = [];
    let start = 0;
    let end = 0;
    for (const range of ranges) {
      if (range[0] !== end) {
        await this.#zero(start, end);
        start = range[0];
      }
      end = range[1];
    }
    await this.#zero(start, end);
  }

  async #zero(start: number, end: number): Promise<void> {
    for (let at = start; at < end; at += MAX_ZERO_LENGTH) {
      const length = Math.min(MAX_ZERO_LENGTH, end - at);
      if (this.#target.zeroAt(at, length)) {
        this.zeroed += length;
        await this.#turn();
      } else {
        await this.#write(at, length);
      }
    }
  }

  async #write(offset: number, length: number): Promise<void> {
    for (let at = 0; at < length; at += zeros.length) {
      this.#target.writeAt(zeros.subarray(0, Math.min(zeros.length, length - at)), offset + at);
      await this.#turn();
    }
    this.writtenZeros += length;
  }

  /** Lets signals through. */
  async #turn(): Promise<void> {
    await nextTurn();
    if (this.#signal?.aborted === true) throw new Interrupted();
  }
}
