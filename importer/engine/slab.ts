/**
 * The memory that a stream passes through: slots of one shared buffer, which the reading thread fills and the workers write
 * out from, so that bytes are copied by nobody on their way.
 */

import { PAGE, pageStart } from "../page-aligned.ts";

/** Length of a slot; raw announces a stream in steps of the same length. */
export const SLOT_LENGTH = 1024 * 1024;

export class Slab {
  readonly memory: SharedArrayBuffer;
  readonly bytes: Buffer;
  readonly #first: number;
  readonly #free: number[];

  constructor(slots: number) {
    this.memory = new SharedArrayBuffer(slots * SLOT_LENGTH + PAGE);
    this.bytes = Buffer.from(this.memory);
    this.#first = pageStart(this.bytes);
    // Taken from the end: ascending, so that neighbours in the stream are often neighbours in memory.
    this.#free = Array.from({ length: slots }, (_, i) => slots - 1 - i);
  }

  /** A free slot's number, or undefined while all are in use. */
  take(): number | undefined {
    return this.#free.pop();
  }

  get hasFree(): boolean {
    return this.#free.length > 0;
  }

  release(slot: number): void {
    this.#free.push(slot);
  }

  /** Position of its first byte in the slab. */
  positionOf(slot: number): number {
    return this.#first + slot * SLOT_LENGTH;
  }

  view(slot: number): Buffer {
    return this.bytes.subarray(this.positionOf(slot), this.positionOf(slot + 1));
  }
}
