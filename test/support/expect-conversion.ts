/**
 * What a whole conversion must come to: this disk, or that refusal. Each image goes both ways, as a file that is read in any
 * order and as bytes that pass once.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { ErrorCode } from "../../importer/outcome.ts";
import { consequences } from "../../importer/outcome.ts";
import { convertImage } from "./convert-image.ts";
import type { ConvertedImage, ConvertImageOptions } from "./convert-image.ts";

/** The right checksum makes a file pass as a stream, because it is over the bytes as they come. */
export function passingOnce(image: Uint8Array): string[] {
  return ["--checksum", `sha256:${createHash("sha256").update(image).digest("hex")}`];
}

/** Converts `image` as a file and as a stream. */
async function convertBothWays(
  image: Uint8Array,
  options: ConvertImageOptions = {},
): Promise<{ readonly file: ConvertedImage; readonly stream: ConvertedImage }> {
  const args = options.args ?? [];
  return {
    file: await convertImage(image, options),
    stream: await convertImage(image, { ...options, args: [...args, ...passingOnce(image)] }),
  };
}

/** Both ways give `disk`, and nothing else. */
export async function expectDisk(
  image: Uint8Array,
  disk: Uint8Array,
  options: ConvertImageOptions = {},
): Promise<{ readonly file: ConvertedImage; readonly stream: ConvertedImage }> {
  const both = await convertBothWays(image, options);
  for (const [way, converted] of Object.entries(both)) {
    assertDisk(converted, disk, way);
    assert.equal(converted.result?.spilled, false, `${way}: no scratch space`);
  }
  return both;
}

export function assertDisk(converted: ConvertedImage, disk: Uint8Array, way = "file"): void {
  assert.equal(converted.status, 0, `${way}: ${converted.message}`);
  assert.equal(converted.size, disk.length, `${way}: length`);
  assert.ok(converted.disk?.equals(disk) === true, `${way}: the disk is not the right one`);
  assert.equal(converted.result?.virtualSize, disk.length, `${way}: virtualSize`);
  assert.deepEqual(converted.leftovers, [], `${way}: leftovers`);
}

/** Both ways refuse: the code and its exit status, every phrase in the sentence, and nothing left. */
export async function expectRefusal(
  image: Uint8Array,
  code: ErrorCode,
  phrases: readonly RegExp[],
  options: ConvertImageOptions = {},
): Promise<void> {
  const both = await convertBothWays(image, options);
  for (const [way, converted] of Object.entries(both)) assertRefusal(converted, code, phrases, way);
}

export function assertRefusal(
  converted: ConvertedImage,
  code: ErrorCode,
  phrases: readonly RegExp[],
  way = "file",
): void {
  assert.equal(converted.code, code, `${way}: ${converted.message}`);
  assert.equal(converted.status, consequences[code].exit, `${way}: exit status`);
  for (const phrase of phrases) assert.match(converted.message, phrase, way);
  assert.equal(converted.size, undefined, `${way}: a disk was left`);
  assert.deepEqual(converted.leftovers, [], `${way}: leftovers`);
}
