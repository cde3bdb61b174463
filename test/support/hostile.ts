/**
 * Damages images: whatever the bytes, a parser gives a FormatError or a disk.
 */
import assert from "node:assert/strict";
import { MAX_ANNOUNCED } from "../../formats/disk-format.ts";
import type { DiskFormat } from "../../formats/disk-format.ts";
import { FormatError } from "../../formats/errors.ts";
import { answer, openImage, parse } from "./parse.ts";
import { randomBytes } from "./base-disk.ts";

/** More than the sizes of the small images that are damaged; a header that claims more is asked for its start only. */
const MOST_READ = 64 * 1024 * 1024;
const MOST_STEPS = 20_000;

/** Opens `file` and walks its extents and its scan; throws only what is not a FormatError. Returns the error's code. */
export function survive(format: DiskFormat, file: Uint8Array): string | undefined {
  let code: string | undefined;
  for (const use of [walkExtents, walkScan]) {
    try {
      use(format, file);
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      assert.ok(error.message.length < 2000 && /^[\x20-\x7e]+$/.test(error.message), `printable: ${error.message}`);
      code = error.code;
    }
  }
  return code;
}

function walkExtents(format: DiskFormat, file: Uint8Array): void {
  const image = openImage(format, file);
  const size = Math.min(image.virtualSize ?? 0, MOST_READ);
  for (let offset = 0; offset < size;) {
    for (const extent of parse(file, image.extents(offset, size - offset))) offset = extent.offset + extent.length;
  }
}

/** Extents are looked at and not decoded: that their bytes are damaged, or missing, is the engine's to report. */
function walkScan(format: DiskFormat, file: Uint8Array): void {
  const image = openImage(format, file);
  const size = image.virtualSize ?? Infinity;
  const scan = image.scan();
  let step = scan.next();
  for (let i = 0; i < MOST_STEPS && step.done !== true; i++) {
    if ("length" in step.value && "offset" in step.value) {
      step = scan.next(answer(file, step.value));
      continue;
    }
    assert.ok(step.value.length > 0 && step.value.length <= MAX_ANNOUNCED);
    for (const extent of step.value) {
      assert.ok(extent.offset >= 0 && extent.length > 0 && extent.offset + extent.length <= size, "inside the disk");
      if (extent.kind !== "data" || extent.stored.encoding === "inline") continue;
      assert.ok(Number.isSafeInteger(extent.stored.offset) && extent.stored.length > 0);
    }
    step = scan.next();
  }
}

/**
 * `count` copies of `file`, each with one to four bytes or words changed in one of `ranges`.
 * @param ranges [start, end) where damage matters: headers and tables
 */
export function* mutations(
  file: Uint8Array,
  ranges: readonly (readonly [number, number])[],
  count: number,
  seed: number,
): Generator<Uint8Array> {
  const next = randomBytes(seed);
  const number = (below: number): number => ((next() << 16) | (next() << 8) | next()) % below;
  const words = [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe, 0xffff_ffff, 0x200, 0x10_0000];
  for (let i = 0; i < count; i++) {
    const damaged = Uint8Array.from(file);
    const view = new DataView(damaged.buffer);
    for (let changes = 1 + number(4); changes > 0; changes--) {
      const [start, end] = ranges[number(ranges.length)] ?? [0, file.length];
      const at = start + number(end - start);
      if (number(2) === 0 && at + 4 <= file.length)
        view.setUint32(at, words[number(words.length)] ?? 0, number(2) === 0);
      else damaged[at] = next();
    }
    yield damaged;
  }
}

/** Every prefix of the first `dense` bytes and then one in `step`: each is an error, or a disk. */
export function survivePrefixes(format: DiskFormat, file: Uint8Array, dense: number, step: number): void {
  for (let length = 0; length < file.length; length += length < dense ? 1 : step) {
    survive(format, file.subarray(0, length));
  }
}
