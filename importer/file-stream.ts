/**
 * A file with random access, read as a stream from its first byte.
 */
import type { ByteStream } from "../formats/byte-stream.ts";
import type { RandomAccess } from "./random-access.ts";

export class FileStream implements ByteStream {
  readonly #file: RandomAccess;
  #position = 0;

  constructor(file: RandomAccess) {
    this.#file = file;
  }

  read(into: Uint8Array): number {
    const count = this.#file.readAt(into, this.#position);
    this.#position += count;
    return count;
  }

  close(): void {
    // Whoever opened the file closes it.
  }
}
