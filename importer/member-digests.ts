/**
 * The digests of an archive member, computed as its content passes, to be compared with an OVA's manifest.
 */
import { createHash } from "node:crypto";
import type { Hash } from "node:crypto";
import type { DigestAlgorithm } from "../formats/archives/manifest.ts";

export class MemberDigests {
  readonly #hashes: ReadonlyMap<DigestAlgorithm, Hash>;

  constructor(algorithms: readonly DigestAlgorithm[]) {
    this.#hashes = new Map(algorithms.map((algorithm) => [algorithm, createHash(algorithm)]));
  }

  update(bytes: Uint8Array): void {
    for (const hash of this.#hashes.values()) hash.update(bytes);
  }

  /** Lower-case hex. Call once, after the last byte. */
  finish(): ReadonlyMap<DigestAlgorithm, string> {
    return new Map([...this.#hashes].map(([algorithm, hash]) => [algorithm, hash.digest("hex")]));
  }
}

/** The digest of bytes that are all there. */
export function hashBytes(algorithm: DigestAlgorithm, bytes: Uint8Array): string {
  return createHash(algorithm).update(bytes).digest("hex");
}
