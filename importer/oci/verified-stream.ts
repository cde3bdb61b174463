/**
 * A blob that is compared with its descriptor as it passes: at its end it fails if it was another one. One that is longer than
 * the descriptor says fails at once.
 */
import { createHash } from "node:crypto";
import type { Hash } from "node:crypto";
import type { ByteStream } from "../../formats/byte-stream.ts";
import { SourceError } from "../errors.ts";
import { checkHash } from "./content-digest.ts";
import type { ContentDigest } from "./content-digest.ts";

export interface ExpectedContent {
  readonly digest: ContentDigest;
  /** Bytes. */
  readonly size: number;
  /** Names it in messages. */
  readonly what: string;
}

export class VerifiedStream implements ByteStream {
  /** Bytes that have passed. */
  position = 0;
  readonly #stream: ByteStream;
  readonly #expected: ExpectedContent;
  readonly #hash: Hash;
  #isChecked = false;

  constructor(stream: ByteStream, expected: ExpectedContent) {
    this.#stream = stream;
    this.#expected = expected;
    this.#hash = createHash(expected.digest.algorithm);
  }

  read(into: Uint8Array): number | Promise<number> {
    if (into.length === 0) return 0;
    const answer = this.#stream.read(into);
    return typeof answer === "number" ? this.#passed(into, answer) : answer.then((count) => this.#passed(into, count));
  }

  close(): void | Promise<void> {
    return this.#stream.close();
  }

  /** @throws SourceError SOURCE_CHECKSUM, SOURCE_TRUNCATED */
  #passed(into: Uint8Array, count: number): number {
    const { digest, size, what } = this.#expected;
    if (count > 0) {
      this.position += count;
      if (this.position > size) {
        throw new SourceError("SOURCE_CHECKSUM", `${what} has more than the ${size} bytes that its manifest says`, {
          context: { algorithm: digest.algorithm, expected: digest.hex, actual: "unknown", of: what },
        });
      }
      this.#hash.update(into.subarray(0, count));
    } else if (!this.#isChecked) {
      this.#isChecked = true;
      if (this.position < size) {
        throw new SourceError("SOURCE_TRUNCATED", `${what} ended after ${this.position} of ${size} bytes`, {
          context: { offset: this.position },
        });
      }
      checkHash(this.#hash, digest, what);
    }
    return count;
  }
}
