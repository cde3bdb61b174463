/**
 * Extents whose bytes have not come by yet, the lowest host offset first: a binary heap of numbers, six a row.
 */
import { FormatError } from "../../formats/errors.ts";
import { ENCODINGS } from "./job.ts";
import type { DataExtent } from "./planner.ts";

/**
 * The most extents that wait: 48 MiB of numbers at the very worst. Reached only by an image whose tables all come first
 * and describe more than a million scattered clusters.
 */
const MAX_FUTURE = 1024 * 1024;

const FIELDS = 6;

export class FutureExtents {
  #rows = new Float64Array(1024 * FIELDS);
  #count = 0;

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  /** Host offset of the first; Infinity if there is none. */
  get nextOffset(): number {
    return this.#count === 0 ? Infinity : (this.#rows[0] ?? 0);
  }

  add(extent: DataExtent): void {
    if (this.#count === MAX_FUTURE) {
      throw new FormatError(
        "FORMAT_OUT_OF_BOUNDS",
        `the image announces more than ${MAX_FUTURE} pieces ahead of their bytes`,
        { remedy: "Give it as a file instead of a stream." },
      );
    }
    if ((this.#count + 1) * FIELDS > this.#rows.length) {
      const larger = new Float64Array(this.#rows.length * 2);
      larger.set(this.#rows);
      this.#rows = larger;
    }
    const { stored } = extent;
    const encoding = ENCODINGS.indexOf(stored.encoding);
    const [decodedLength, skip] = stored.encoding === "plain" ? [0, 0] : [stored.decodedLength, stored.skip];
    // Encoding and decoded length share a field: both are small.
    const row = [stored.offset, stored.length, extent.offset, extent.length, decodedLength * 8 + encoding, skip];
    this.#rows.set(row, this.#count * FIELDS);
    this.#siftUp(this.#count);
    this.#count += 1;
  }

  /** Takes the first. */
  take(): DataExtent {
    if (this.#count === 0) throw new Error("no extent is waiting");
    const extent = this.#extentAt(0);
    this.#count -= 1;
    this.#rows.copyWithin(0, this.#count * FIELDS, (this.#count + 1) * FIELDS);
    this.#siftDown();
    return extent;
  }

  #extentAt(row: number): DataExtent {
    const [hostOffset = 0, storedLength = 0, offset = 0, length = 0, packed = 0, skip = 0] = this.#rows.subarray(
      row * FIELDS,
      (row + 1) * FIELDS,
    );
    const encoding = ENCODINGS[packed % 8] ?? "plain";
    if (encoding === "plain") return { offset, length, stored: { encoding, offset: hostOffset, length: storedLength } };
    const decodedLength = Math.floor(packed / 8);
    return { offset, length, stored: { encoding, offset: hostOffset, length: storedLength, decodedLength, skip } };
  }

  #siftUp(from: number): void {
    let row = from;
    while (row > 0) {
      const parent = (row - 1) >> 1;
      if (this.#key(parent) <= this.#key(row)) return;
      this.#swap(parent, row);
      row = parent;
    }
  }

  #siftDown(): void {
    let row = 0;
    for (;;) {
      const left = 2 * row + 1;
      if (left >= this.#count) return;
      const right = left + 1;
      const child = right < this.#count && this.#key(right) < this.#key(left) ? right : left;
      if (this.#key(row) <= this.#key(child)) return;
      this.#swap(row, child);
      row = child;
    }
  }

  #key(row: number): number {
    return this.#rows[row * FIELDS] ?? 0;
  }

  #swap(a: number, b: number): void {
    for (let i = 0; i < FIELDS; i++) {
      const kept = this.#rows[a * FIELDS + i] ?? 0;
      this.#rows[a * FIELDS + i] = this.#rows[b * FIELDS + i] ?? 0;
      this.#rows[b * FIELDS + i] = kept;
    }
  }
}
