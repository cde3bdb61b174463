/**
 * The last bytes that went by, kept where no validator vouches for a file: what is fetched after a cut begins with them
 * again, and is believed only if they are the same.
 */

/** Bytes that have to come twice. */
export const OVERLAP_LENGTH = 64 * 1024;

export class Overlap {
  readonly #ring = new Uint8Array(OVERLAP_LENGTH);
  #total = 0;

  /** Copies what it needs of `bytes`. */
  push(bytes: Uint8Array): void {
    const kept = bytes.subarray(Math.max(0, bytes.length - OVERLAP_LENGTH));
    const at = (this.#total + bytes.length - kept.length) % OVERLAP_LENGTH;
    const first = kept.subarray(0, OVERLAP_LENGTH - at);
    this.#ring.set(first, at);
    this.#ring.set(kept.subarray(first.length), 0);
    this.#total += bytes.length;
  }

  /** How many bytes it holds. */
  get length(): number {
    return Math.min(this.#total, OVERLAP_LENGTH);
  }

  /** A copy, in the order in which they went by. */
  bytes(): Uint8Array {
    if (this.#total <= OVERLAP_LENGTH) return this.#ring.slice(0, this.#total);
    const start = this.#total % OVERLAP_LENGTH;
    return Buffer.concat([this.#ring.subarray(start), this.#ring.subarray(0, start)]);
  }
}
