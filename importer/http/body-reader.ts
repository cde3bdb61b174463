/**
 * The body of an answer, read into the consumer's buffers.
 *
 * The pieces that the socket gives are kept as they are until they are copied, once, to where they are wanted; the socket
 * waits while enough of them lie here. (Reading the Node.js stream with `read()` or `for await` would join them first.)
 */
import type { Readable } from "node:stream";
import type { ByteStream } from "../../formats/byte-stream.ts";
import type { StallWatch } from "./stall.ts";

/** Bytes that lie here before the socket has to wait: four pieces of 64 KiB. */
const ENOUGH = 256 * 1024;

/** A body that ended before its end, as Node.js calls it. */
const PREMATURE = "ERR_STREAM_PREMATURE_CLOSE";

/** Holds a reader back to a pace. */
export interface Throttle {
  /** Bytes that one read gives at most. */
  readonly pieceLength: number;
  /** Resolves when bytes that were taken may be handed on. Rejects once `signal` aborts. */
  taken(bytes: number, signal: AbortSignal): Promise<void>;
}

export class BodyReader implements ByteStream {
  readonly #stream: Readable;
  readonly #watch: StallWatch;
  readonly #throttle: Throttle | undefined;
  readonly #pieces: Buffer[] = [];
  #queued = 0;
  #taken = 0;
  #isPaused = false;
  #end: { readonly error: Error | undefined } | undefined;
  #wake: (() => void) | undefined;

  /** @param watch aborts the request; its timer runs while somebody waits here */
  constructor(stream: Readable, watch: StallWatch, throttle?: Throttle) {
    this.#stream = stream;
    this.#watch = watch;
    this.#throttle = throttle;
    stream.on("data", (piece: Buffer) => this.#add(piece));
    stream.on("end", () => this.#finish(undefined));
    stream.on("error", (error) => this.#finish(error));
    stream.on("close", () => this.#finish(Object.assign(new Error("closed"), { code: PREMATURE })));
  }

  get stalled(): boolean {
    return this.#watch.stalled;
  }

  /** Rejects with what the socket or the library said; it is not fit to be shown. */
  read(into: Uint8Array): number | Promise<number> {
    return this.#throttle === undefined ? this.#readNow(into) : this.#readSlowly(into, this.#throttle);
  }

  async #readSlowly(into: Uint8Array, throttle: Throttle): Promise<number> {
    const count = await this.#readNow(into.subarray(0, throttle.pieceLength));
    if (count > 0) await throttle.taken(count, this.#watch.signal);
    return count;
  }

  #readNow(into: Uint8Array): number | Promise<number> {
    if (this.#queued > 0) return this.#take(into);
    if (this.#end !== undefined) return this.#ended(this.#end.error);
    return this.#waitAndTake(into);
  }

  /** Ends the request; a body that was read to its end leaves its connection to the next one. */
  close(): void {
    this.#pieces.length = 0;
    this.#queued = 0;
    this.#watch.abort();
  }

  async #waitAndTake(into: Uint8Array): Promise<number> {
    this.#watch.start();
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    this.#watch.stop();
    if (this.#queued > 0) return this.#take(into);
    return this.#ended(this.#end?.error);
  }

  #ended(error: Error | undefined): number {
    if (error !== undefined) throw error;
    return 0;
  }

  #take(into: Uint8Array): number {
    let filled = 0;
    while (filled < into.length && this.#queued > 0) {
      const [piece] = this.#pieces;
      if (piece === undefined) break;
      const count = Math.min(piece.length - this.#taken, into.length - filled);
      into.set(piece.subarray(this.#taken, this.#taken + count), filled);
      filled += count;
      this.#taken += count;
      this.#queued -= count;
      if (this.#taken < piece.length) break;
      this.#pieces.shift();
      this.#taken = 0;
    }
    if (this.#isPaused && this.#queued < ENOUGH / 2) {
      this.#isPaused = false;
      this.#stream.resume();
    }
    return filled;
  }

  #add(piece: Buffer): void {
    if (piece.length === 0 || this.#end !== undefined) return;
    this.#pieces.push(piece);
    this.#queued += piece.length;
    if (this.#queued >= ENOUGH) {
      this.#isPaused = true;
      this.#stream.pause();
    }
    this.#wakeReader();
  }

  #finish(error: Error | undefined): void {
    if (this.#end !== undefined) return;
    this.#end = { error };
    this.#wakeReader();
  }

  #wakeReader(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}
