/**
 * A file with random access, read as a stream from its first byte. Its bytes are there at once, mostly: now and then a read
 * answers later, so that whoever reads to the end does not keep signals waiting for it.
 */
import type { ByteStream } from "../formats/byte-stream.ts";
import type { RandomAccess } from "./random-access.ts";
import { Turns } from "./turns.ts";

export class FileStream implements ByteStream {
  readonly #file: RandomAccess;
  readonly #turns = new Turns();
  #position = 0;

  constructor(file: RandomAccess) {
    this.#file = file;
  }

  read(into: Uint8Array): number | Promise<number> {
    const turn = this.#turns.due();
    return turn === undefined ? this.#read(into) : turn.then(() => this.#read(into));
  }

  close(): void {
    // Whoever opened the file closes it.
  }

  #read(into: Uint8Array): number | Promise<number> {
    const answer = this.#file.readAt(into, this.#position);
    return typeof answer === "number" ? this.#passed(answer) : answer.then((count) => this.#passed(count));
  }

  #passed(count: number): number {
    this.#position += count;
    return count;
  }
}
