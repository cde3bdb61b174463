/**
 * A checksum over the bytes as they are stored, before anything is unwrapped: `sha256:9f86d0…`.
 */
import { createHash } from "node:crypto";
import type { Hash } from "node:crypto";
import type { ByteStream } from "../formats/byte-stream.ts";
import { SourceError, UsageError } from "./errors.ts";

const HEX_LENGTHS = { md5: 32, sha1: 40, sha256: 64, sha512: 128 } as const;

export interface Checksum {
  readonly algorithm: keyof typeof HEX_LENGTHS;
  /** Lower case. */
  readonly hex: string;
}

/** @throws UsageError naming what is wrong */
export function parseChecksum(text: string): Checksum {
  const [algorithm = "", hex = "", ...rest] = text
    .toLowerCase()
    .split(":")
    .map((half) => half.trim());
  if (rest.length > 0 || !isAlgorithm(algorithm)) {
    throw new UsageError(`checksum "${text.slice(0, 200)}" is not of the form md5|sha1|sha256|sha512:hex`);
  }
  if (!/^[0-9a-f]+$/.test(hex) || hex.length !== HEX_LENGTHS[algorithm]) {
    const digits = HEX_LENGTHS[algorithm];
    throw new UsageError(`a ${algorithm} checksum has ${digits} hexadecimal digits`, {
      context: { algorithm, digits, given: hex.length },
    });
  }
  return { algorithm, hex };
}

function isAlgorithm(name: string): name is Checksum["algorithm"] {
  return Object.hasOwn(HEX_LENGTHS, name);
}

/** Hashes a stream as it passes; the comparison comes after its end. */
export class ChecksummedStream implements ByteStream {
  readonly #stream: ByteStream;
  readonly #expected: Checksum;
  readonly #hash: Hash;
  #ended = false;

  constructor(stream: ByteStream, expected: Checksum) {
    this.#stream = stream;
    this.#expected = expected;
    this.#hash = createHash(expected.algorithm);
  }

  read(into: Uint8Array): number | Promise<number> {
    const answer = this.#stream.read(into);
    return typeof answer === "number" ? this.#hashed(into, answer) : answer.then((count) => this.#hashed(into, count));
  }

  close(): void | Promise<void> {
    return this.#stream.close();
  }

  /**
   * Reads what is left of the stream and compares.
   * @throws SourceError SOURCE_CHECKSUM
   */
  async verify(): Promise<void> {
    const rest = new Uint8Array(64 * 1024);
    while (!this.#ended) await this.read(rest);
    const actual = this.#hash.digest("hex");
    if (actual === this.#expected.hex) return;
    const { algorithm, hex } = this.#expected;
    throw new SourceError("SOURCE_CHECKSUM", `the source's ${algorithm} is ${actual}, not ${hex}`, {
      remedy: "The image is damaged or not the one that was meant; nothing of it was kept.",
      context: { algorithm, expected: hex, actual },
    });
  }

  #hashed(into: Uint8Array, count: number): number {
    if (count === 0) this.#ended = true;
    else this.#hash.update(into.subarray(0, count));
    return count;
  }
}
