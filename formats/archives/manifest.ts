/**
 * The manifest of an OVA (DMTF DSP0243, "Manifest file"): a line with a digest for each file.
 */
import { FormatError } from "../errors.ts";
import { quoted } from "./shown-names.ts";

/** A line for each file of the archive. */
export const MAX_MANIFEST_LENGTH = 1024 * 1024;

export type DigestAlgorithm = "sha1" | "sha256" | "sha512";

export interface ManifestDigest {
  readonly algorithm: DigestAlgorithm;
  /** Lower case. */
  readonly hex: string;
}

/** `SHA256(disk.vmdk)= 0123…`; OpenSSL, which most tools call, writes `SHA2-256(disk.vmdk)= ` since version 3. */
const MANIFEST_LINE = /^([A-Za-z0-9-]+)\s*\((.*)\)\s*=\s*([0-9A-Fa-f]+)\s*$/;

const ALGORITHMS: Readonly<Record<string, DigestAlgorithm>> = {
  SHA1: "sha1",
  "SHA-1": "sha1",
  SHA256: "sha256",
  "SHA-256": "sha256",
  "SHA2-256": "sha256",
  SHA512: "sha512",
  "SHA-512": "sha512",
  "SHA2-512": "sha512",
};

const HEX_LENGTH: Readonly<Record<DigestAlgorithm, number>> = { sha1: 40, sha256: 64, sha512: 128 };

/**
 * @param text the manifest, UTF-8
 * @returns for each file that it names the digest
 * @throws FormatError FORMAT_INVALID, FORMAT_UNSUPPORTED (an algorithm), FORMAT_OUT_OF_BOUNDS (its length)
 */
export function parseManifest(text: Uint8Array): Map<string, ManifestDigest> {
  if (text.length > MAX_MANIFEST_LENGTH) throw manifestTooLong(text.length);
  const digests = new Map<string, ManifestDigest>();
  for (const [index, line] of new TextDecoder().decode(text).split(/\r?\n/).entries()) {
    if (line.trim() === "") continue;
    const [, word, name, hex] = MANIFEST_LINE.exec(line) ?? [];
    if (word === undefined || name === undefined || hex === undefined) {
      throw new FormatError("FORMAT_INVALID", `line ${index + 1} of the OVA's manifest is no digest`);
    }
    const algorithm = Object.hasOwn(ALGORITHMS, word.toUpperCase()) ? ALGORITHMS[word.toUpperCase()] : undefined;
    if (algorithm === undefined) {
      throw new FormatError(
        "FORMAT_UNSUPPORTED",
        `the OVA's manifest uses ${quoted(word)}, not SHA1, SHA256 or SHA512`,
        {
          remedy: "Unpack the OVA and convert its disk.",
        },
      );
    }
    if (hex.length !== HEX_LENGTH[algorithm] || differs(digests.get(name), { algorithm, hex: hex.toLowerCase() })) {
      throw new FormatError("FORMAT_INVALID", `line ${index + 1} of the OVA's manifest has a wrong digest`);
    }
    digests.set(name, { algorithm, hex: hex.toLowerCase() });
  }
  return digests;
}

/** A file may be named twice, but not with two values. */
function differs(known: ManifestDigest | undefined, other: ManifestDigest): boolean {
  return known !== undefined && known.algorithm === other.algorithm && known.hex !== other.hex;
}

/** The manifest is longer than what is read of one. */
export function manifestTooLong(length: number): FormatError {
  const limit = MAX_MANIFEST_LENGTH;
  return new FormatError("FORMAT_OUT_OF_BOUNDS", `the OVA's manifest has ${length} bytes, above the limit of ${limit}`);
}
