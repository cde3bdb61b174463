/**
 * A stream whose first bytes were looked at and still come.
 */
import { readFully } from "../formats/byte-stream.ts";
import type { ByteStream } from "../formats/byte-stream.ts";

export class PeekedStream implements ByteStream {
  readonly #stream: ByteStream;
  #peeked: Uint8Array;

  private constructor(stream: ByteStream, peeked: Uint8Array) {
    this.#stream = stream;
    this.#peeked = peeked;
  }

  /** Reads up to `length` bytes ahead. `head` is a copy that the caller may keep. */
  static async peek(stream: ByteStream, length: number): Promise<{ head: Uint8Array; stream: PeekedStream }> {
    const head = new Uint8Array(length);
    const count = await readFully(stream, head);
    return { head: head.slice(0, count), stream: new PeekedStream(stream, head.slice(0, count)) };
  }

  read(into: Uint8Array): number | Promise<number> {
    if (this.#peeked.length === 0) return this.#stream.read(into);
    const count = Math.min(into.length, this.#peeked.length);
    into.set(this.#peeked.subarray(0, count));
    this.#peeked = this.#peeked.subarray(count);
    return count;
  }

  close(): void | Promise<void> {
    return this.#stream.close();
  }
}
