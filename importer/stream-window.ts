/**
 * A stream with positions: looks ahead, skips, and reads on, always forward. What was looked at still comes.
 */
import type { ByteStream } from "../formats/byte-stream.ts";
import { Turns } from "./turns.ts";

const SKIP_LENGTH = 256 * 1024;

export class StreamWindow {
  /** Position of the next byte that `read` gives. */
  position = 0;
  readonly #stream: ByteStream;
  readonly #turns = new Turns();
  #ahead: Uint8Array = new Uint8Array(0);
  #ended = false;

  constructor(stream: ByteStream) {
    this.#stream = stream;
  }

  /**
   * Skips to `offset`, which is not behind `position`, and looks at the next `length` bytes.
   * @returns fewer only at the end of the stream; valid until the next call
   */
  async peek(offset: number, length: number): Promise<Uint8Array> {
    await this.skipTo(offset);
    if (this.#ahead.length < length && !this.#ended) {
      const wider = new Uint8Array(length);
      wider.set(this.#ahead);
      let filled = this.#ahead.length;
      while (filled < length && !this.#ended) filled += await this.#pull(wider.subarray(filled));
      this.#ahead = wider.subarray(0, filled);
    }
    return this.#ahead.subarray(0, length);
  }

  /** The next bytes; 0 at the end of the stream. */
  async read(into: Uint8Array): Promise<number> {
    let count = Math.min(into.length, this.#ahead.length);
    if (count > 0) {
      into.set(this.#ahead.subarray(0, count));
      this.#ahead = this.#ahead.subarray(count);
    } else if (!this.#ended) {
      count = await this.#pull(into);
    }
    this.position += count;
    return count;
  }

  async skipTo(offset: number): Promise<void> {
    if (offset < this.position) throw new Error(`cannot go back from ${this.position} to ${offset}`);
    if (offset === this.position) return;
    const rest = new Uint8Array(Math.min(SKIP_LENGTH, offset - this.position));
    while (this.position < offset) {
      if ((await this.read(rest.subarray(0, Math.min(rest.length, offset - this.position)))) === 0) return;
    }
  }

  /** Reads on to the end of the stream. */
  async drain(): Promise<void> {
    const rest = new Uint8Array(SKIP_LENGTH);
    while ((await this.read(rest)) > 0);
  }

  close(): void | Promise<void> {
    return this.#stream.close();
  }

  async #pull(into: Uint8Array): Promise<number> {
    await this.#turns.due();
    const count = await this.#stream.read(into);
    if (count === 0) this.#ended = true;
    return count;
  }
}
