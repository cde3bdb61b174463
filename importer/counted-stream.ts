/**
 * Counts the bytes of a stream as they are served, for progress and for the summary.
 */
import { performance } from "node:perf_hooks";
import type { ByteStream } from "../formats/byte-stream.ts";

export class CountedStream implements ByteStream {
  bytes = 0;
  /** Time spent waiting for bytes. */
  waitedMs = 0;
  readonly #stream: ByteStream;

  constructor(stream: ByteStream) {
    this.#stream = stream;
  }

  read(into: Uint8Array): number | Promise<number> {
    const started = performance.now();
    const answer = this.#stream.read(into);
    return typeof answer === "number" ? this.#counted(answer, started) : answer.then((n) => this.#counted(n, started));
  }

  close(): void | Promise<void> {
    return this.#stream.close();
  }

  #counted(count: number, started: number): number {
    this.bytes += count;
    this.waitedMs += performance.now() - started;
    return count;
  }
}
