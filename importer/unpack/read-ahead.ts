/**
 * A stream that is read in small pieces, taken from its source in large ones: an archive of small files is a header and a few
 * bytes, over and over.
 */
import type { ByteStream } from "../../formats/byte-stream.ts";

const BUFFER_LENGTH = 256 * 1024;

export class ReadAhead implements ByteStream {
  readonly #stream: ByteStream;
  readonly #buffer = new Uint8Array(BUFFER_LENGTH);
  #start = 0;
  #end = 0;

  constructor(stream: ByteStream) {
    this.#stream = stream;
  }

  read(into: Uint8Array): number | Promise<number> {
    if (this.#start < this.#end) return this.#take(into);
    // What is as long as the buffer need not pass through it.
    if (into.length >= BUFFER_LENGTH) return this.#stream.read(into);
    const answer = this.#stream.read(this.#buffer);
    return typeof answer === "number" ? this.#filled(answer, into) : answer.then((count) => this.#filled(count, into));
  }

  close(): void | Promise<void> {
    return this.#stream.close();
  }

  #filled(count: number, into: Uint8Array): number {
    this.#start = 0;
    this.#end = count;
    return this.#take(into);
  }

  #take(into: Uint8Array): number {
    const count = Math.min(into.length, this.#end - this.#start);
    into.set(this.#buffer.subarray(this.#start, this.#start + count));
    this.#start += count;
    return count;
  }
}
