/**
 * The compressed bytes that a decoder looks at: a window on its input, refilled in large pieces into one buffer.
 *
 * A native decoder is given addresses in that buffer, which never moves. The last bytes that were consumed stay in front
 * of the window, because a decoder that reads ahead in words must be able to give back what it did not use.
 */
import type { ByteStream } from "../byte-stream.ts";

/** How much the window holds at most, and so the longest header that can be asked for in one piece. */
export const WINDOW_LENGTH = 256 * 1024;
/** How many consumed bytes can be given back: one 64-bit word, as ISA-L reads ahead. */
export const GIVE_BACK_LENGTH = 8;

const MIN_READ = 64 * 1024; // below this much room behind the window its bytes are moved to the front first

export class InputWindow {
  /** Bytes `[start, end)` are not consumed yet. */
  readonly buffer: Uint8Array = new Uint8Array(GIVE_BACK_LENGTH + WINDOW_LENGTH);
  #start = GIVE_BACK_LENGTH;
  #end = GIVE_BACK_LENGTH;
  #ended = false;
  readonly #input: ByteStream;

  constructor(input: ByteStream) {
    this.#input = input;
  }

  get start(): number {
    return this.#start;
  }

  get length(): number {
    return this.#end - this.#start;
  }

  /** True once the input has ended: what the window holds is all there will be. */
  get ended(): boolean {
    return this.#ended;
  }

  /** The bytes not consumed yet; a view that is valid until the next refill. */
  bytes(): Uint8Array {
    return this.buffer.subarray(this.#start, this.#end);
  }

  /** @param count negative to give back, at most GIVE_BACK_LENGTH */
  consume(count: number): void {
    const start = this.#start + count;
    if (start < 0 || start > this.#end) throw new Error(`a decoder consumed ${count} bytes of ${this.length}`);
    this.#start = start;
  }

  /** Reads more input behind what is there; the answer is how many bytes, 0 at the end of the input. */
  refill(): number | Promise<number> {
    if (this.#ended) return 0;
    if (this.#start === this.#end || this.buffer.length - this.#end < MIN_READ) this.#moveToFront();
    if (this.#end === this.buffer.length) throw new Error("a decoder asks for more input than its window holds");
    const count = this.#input.read(this.buffer.subarray(this.#end));
    return typeof count === "number" ? this.#add(count) : count.then((later) => this.#add(later));
  }

  close(): void | Promise<void> {
    return this.#input.close();
  }

  #moveToFront(): void {
    const kept = this.#start - GIVE_BACK_LENGTH;
    if (kept <= 0) return;
    this.buffer.copyWithin(0, kept, this.#end);
    this.#start -= kept;
    this.#end -= kept;
  }

  #add(count: number): number {
    this.#end += count;
    if (count === 0) this.#ended = true;
    return count;
  }
}
