/**
 * A stream from a pipe, a socket or a character device: whatever a descriptor gives. Reads wait outside the main thread, so
 * that signals are served while nothing comes.
 */
import fs from "node:fs";
import type { ByteStream } from "../../formats/byte-stream.ts";
import { SourceError } from "../errors.ts";

export class DescriptorStream implements ByteStream {
  readonly #fd: number;
  readonly #name: string;
  #ended = false;

  constructor(fd: number, name: string) {
    this.#fd = fd;
    this.#name = name;
  }

  read(into: Uint8Array): Promise<number> | number {
    if (this.#ended) return 0;
    return new Promise((resolve, reject) => {
      fs.read(this.#fd, into, 0, into.length, null, (error, count) => {
        if (error !== null) {
          reject(new SourceError("SOURCE_UNAVAILABLE", `cannot read ${this.#name}`, { cause: error }));
          return;
        }
        if (count === 0) this.#ended = true;
        resolve(count);
      });
    });
  }

  close(): void {
    this.#ended = true;
  }
}
