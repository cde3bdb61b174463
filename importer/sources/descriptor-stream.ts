/**
 * A stream from a pipe, a socket or a character device: whatever a descriptor gives. Reads wait outside the main thread, so
 * that signals are served while nothing comes.
 */
import fs from "node:fs";
import type { ByteStream } from "../../formats/byte-stream.ts";
import { Interrupted, SourceError } from "../errors.ts";

export class DescriptorStream implements ByteStream {
  readonly #fd: number;
  readonly #name: string;
  #ended = false;
  #giveUp: (() => void) | undefined;

  constructor(fd: number, name: string) {
    this.#fd = fd;
    this.#name = name;
  }

  read(into: Uint8Array): Promise<number> | number {
    if (this.#ended) return 0;
    return new Promise((resolve, reject) => {
      this.#giveUp = () => reject(new Interrupted());
      fs.read(this.#fd, into, 0, into.length, null, (error, count) => {
        if (error !== null) {
          reject(new SourceError("SOURCE_UNAVAILABLE", `cannot read ${this.#name}`, { cause: error }));
          return;
        }
        if (count === 0) this.#ended = true;
        this.#giveUp = undefined;
        resolve(count);
      });
    });
  }

  /** A read that waits for bytes is given up: nobody can tell whether they ever come. */
  close(): void {
    this.#ended = true;
    this.#giveUp?.();
  }
}
