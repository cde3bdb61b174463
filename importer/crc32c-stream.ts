/**
 * A stream that fails at its end if its bytes are not those that a CRC-32C was told for: they were damaged on the way.
 */
import type { ByteStream } from "../formats/byte-stream.ts";
import { crc32c } from "../formats/crc32c.ts";
import { SourceError } from "./errors.ts";

export class Crc32cStream implements ByteStream {
  readonly #stream: ByteStream;
  readonly #expected: number;
  readonly #name: string;
  #sum = 0;

  /** @param name of the source, safe to show */
  constructor(stream: ByteStream, expected: number, name: string) {
    this.#stream = stream;
    this.#expected = expected;
    this.#name = name;
  }

  /** @throws SourceError SOURCE_CHANGED at the end; reading it all again may help */
  read(into: Uint8Array): number | Promise<number> {
    const answer = this.#stream.read(into);
    return typeof answer === "number" ? this.#passed(into, answer) : answer.then((count) => this.#passed(into, count));
  }

  close(): void | Promise<void> {
    return this.#stream.close();
  }

  #passed(into: Uint8Array, count: number): number {
    this.#sum = crc32c(into.subarray(0, count), this.#sum);
    if (count > 0 || into.length === 0 || this.#sum === this.#expected) return count;
    const sums = { expected: hex(this.#expected), actual: hex(this.#sum) };
    throw new SourceError(
      "SOURCE_CHANGED",
      `${this.#name} came damaged: its CRC-32C is ${sums.actual}, and the server says ${sums.expected}`,
      { context: { ...sums, restart: "from-zero" } },
    );
  }
}

function hex(sum: number): string {
  return sum.toString(16).padStart(8, "0");
}
