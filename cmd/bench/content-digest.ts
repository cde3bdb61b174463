/**
 * A digest of what a raw disk holds, which is the same for the same content however its zeros are kept: as holes, as written
 * zeros, or not at all behind the end. (A VHD's size is a multiple of its geometry, so two right answers may differ by zeros.)
 */
import { createHash } from "node:crypto";
import type { Hash } from "node:crypto";
import { raw } from "../../formats/raw.ts";
import { readPieces } from "../../importer/disk-reader.ts";
import { driveParser } from "../../importer/drive-parser.ts";
import { isZero } from "../../importer/engine/zero-search.ts";
import { openFile } from "../../importer/sources/file.ts";

/** What is zero is left out in units of this: no filesystem has smaller holes. */
const GRAIN = 512;

/**
 * @param path   a file or a block device
 * @param length bytes of it that count
 * @returns hex of a SHA-256 over the places and bytes of what is not zero
 */
export async function digestContent(path: string, length: number): Promise<string> {
  const source = openFile(path);
  try {
    const { file } = source;
    if (file === undefined) throw new Error(`${path} is neither a file nor a device`);
    const image = await driveParser(raw.open(file.size), file);
    const digest = new SparseDigest();
    for await (const { offset, bytes } of readPieces(image, file, "auto")) {
      if (offset >= length) break;
      if (bytes !== undefined) digest.add(bytes.subarray(0, length - offset), offset);
    }
    return digest.hex();
  } finally {
    source.close();
  }
}

class SparseDigest {
  readonly #hash: Hash = createHash("sha256");
  /** Where the last bytes ended. */
  #end = -1;

  add(bytes: Uint8Array, offset: number): void {
    if (isZero(bytes)) return;
    let runStart = -1;
    // Up to a multiple of the grain on the disk, so that it does not matter where a piece begins.
    for (let at = 0, next; at < bytes.length; at = next) {
      next = Math.min(bytes.length, at + GRAIN - ((offset + at) % GRAIN));
      const zero = isZero(bytes, at, next);
      if (!zero && runStart < 0) runStart = at;
      if (zero && runStart >= 0) {
        this.#run(bytes.subarray(runStart, at), offset + runStart);
        runStart = -1;
      }
    }
    if (runStart >= 0) this.#run(bytes.subarray(runStart), offset + runStart);
  }

  hex(): string {
    return this.#hash.digest("hex");
  }

  #run(bytes: Uint8Array, offset: number): void {
    if (offset !== this.#end) {
      const place = Buffer.alloc(8);
      place.writeBigUInt64LE(BigInt(offset));
      this.#hash.update(place);
    }
    this.#hash.update(bytes);
    this.#end = offset + bytes.length;
  }
}
