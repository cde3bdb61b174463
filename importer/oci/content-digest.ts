/**
 * Digests by which a registry names content: `sha256:9f86d0…`, and the comparison of content with them.
 * @see OCI image specification, "Descriptors: Digests"
 */
import { createHash } from "node:crypto";
import type { Hash } from "node:crypto";
import { SourceError } from "../errors.ts";

export interface ContentDigest {
  readonly algorithm: "sha256" | "sha512";
  /** Lower case. */
  readonly hex: string;
  /** Both, as the registry writes it. */
  readonly text: string;
}

const HEX_LENGTHS: Readonly<Record<string, number>> = { sha256: 64, sha512: 128 };

/** Undefined if `text` is no digest that can be checked. */
export function parseContentDigest(text: string): ContentDigest | undefined {
  const [, algorithm = "", hex = ""] = /^([a-z0-9]+):([0-9a-f]+)$/.exec(text) ?? [];
  if (algorithm !== "sha256" && algorithm !== "sha512") return undefined;
  return hex.length === HEX_LENGTHS[algorithm] ? { algorithm, hex, text } : undefined;
}

/**
 * @param what names the content in the message
 * @throws SourceError SOURCE_CHECKSUM
 */
export function checkContent(bytes: Uint8Array, digest: ContentDigest, what: string): void {
  checkHash(createHash(digest.algorithm).update(bytes), digest, what);
}

/** @throws SourceError SOURCE_CHECKSUM */
export function checkHash(hash: Hash, digest: ContentDigest, what: string): void {
  const actual = hash.digest("hex");
  if (actual === digest.hex) return;
  const { algorithm, hex } = digest;
  throw new SourceError("SOURCE_CHECKSUM", `${what} has the digest ${algorithm}:${actual}, not ${digest.text}`, {
    remedy: "It is damaged, or not what was pushed; nothing of it was kept.",
    context: { algorithm, expected: hex, actual, of: what },
  });
}
