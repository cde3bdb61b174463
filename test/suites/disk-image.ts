/**
 * The contract of a disk image, run for each format: `describeDiskImage(format, cases)`.
 *
 * That ranges lie inside the disk is the caller's part of it, so none past the end is asked for.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { DiskFormat, DiskImage, Extent, Need } from "../../formats/disk-format.ts";
import { answer, extentBytes, openImage, parse, scanDisk } from "../support/parse.ts";

export interface DiskImageCases {
  /** Of the image, for the test's name. */
  readonly name: string;
  /** The image file. */
  readonly file: Uint8Array;
  /** What the guest sees, from another program. */
  readonly disk: Buffer;
  /** Where the format cuts a disk: clusters, grains or blocks of so many bytes. */
  readonly unit: number;
  /** What a stream of the file is, where that is not the same format. */
  readonly streamed?: DiskFormat;
  /** Cases that this image cannot have. */
  readonly skip?: readonly { readonly case: string; readonly reason: string }[];
}

export function describeDiskImage(format: DiskFormat, cases: DiskImageCases): void {
  const { name, file, disk, unit } = cases;
  const test = (title: string, body: (image: DiskImage) => void): void => {
    const skip = cases.skip?.find((skipped) => skipped.case === title)?.reason ?? false;
    it(title, { skip }, () => body(openImage(format, file)));
  };

  describe(`${format.name} image: ${name}`, () => {
    test("virtual size", (image) => {
      assert.equal(image.format, format.name);
      assert.equal(image.virtualSize, disk.length);
    });

    test("read whole", (image) => {
      assertRead(image, 0, disk.length);
    });

    test("read unaligned", (image) => {
      for (const [offset, length] of [
        [1, 511],
        [513, unit],
        [unit - 7, 2 * unit + 9],
        [disk.length - 5000, 4999],
      ] as const) {
        assertRead(image, offset, Math.min(length, disk.length - offset));
      }
    });

    test("read one byte", (image) => {
      for (const offset of [0, 1, 511, unit - 1, unit, disk.length - 1]) assertRead(image, offset, 1);
    });

    test("read across every border", (image) => {
      const borders = extentsOf(image, 0, disk.length).map((extent) => extent.offset);
      for (let at = unit; at < disk.length; at += Math.max(unit, disk.length >> 8)) borders.push(at);
      for (const at of borders.filter((border) => border >= 3)) assertRead(image, at - 3, 6);
    });

    test("extents of any range", (image) => {
      const range = fc.tuple(fc.nat(disk.length - 1), fc.integer({ min: 1, max: disk.length }));
      fc.assert(
        fc.property(range, ([offset, length]) => {
          assertRead(image, offset, Math.min(length, disk.length - offset));
        }),
        { seed: 1, numRuns: 20 },
      );
    });

    test("extents are merged", (image) => {
      for (const [offset, length] of [
        [0, disk.length],
        [777, disk.length - 1000],
      ] as const) {
        const extents = parse(file, image.extents(offset, length));
        for (const [i, extent] of extents.entries()) {
          const before = extents[i - 1];
          assert.ok(before === undefined || !isContinued(before, extent), `at ${extent.offset}`);
        }
      }
    });

    test("two readers at once agree", (image) => {
      const middle = Math.floor(disk.length / 2);
      const ranges = [
        [0, disk.length],
        [middle, disk.length - middle],
        [0, disk.length],
        [unit, 1],
      ] as const;
      const readers = ranges.map(([offset, length]) => reading(image, file, offset, length));
      const unfinished = new Set(readers);
      while (unfinished.size > 0) {
        for (const reader of unfinished) if (reader.next().done === true) unfinished.delete(reader);
      }
      for (const [i, [offset, length]] of ranges.entries()) {
        assert.ok(readers[i]?.bytes.equals(disk.subarray(offset, offset + length)), `reader ${i}`);
      }
    });

    test("a single pass gives the same disk", () => {
      const scanned = scanDisk(cases.streamed ?? format, file, undefined);
      assert.ok(disk.equals(scanned.disk));
    });
  });

  function assertRead(image: DiskImage, offset: number, length: number): void {
    const bytes = Buffer.alloc(length, 0xee);
    assert.ok(offset + length <= disk.length, "the test asks for what is there");
    for (const extent of extentsOf(image, offset, length)) bytes.set(extentBytes(extent, file), extent.offset - offset);
    assert.ok(bytes.equals(disk.subarray(offset, offset + length)), `${length} bytes at ${offset}`);
  }

  function extentsOf(image: DiskImage, offset: number, length: number): Extent[] {
    const extents: Extent[] = [];
    for (let at = offset; at < offset + length;) {
      const part = parse(file, image.extents(at, offset + length - at));
      at = checkExtents(part, at, offset + length);
      extents.push(...part);
    }
    return extents;
  }
}

/** Ascending, contiguous, from `at` on, inside the range. Returns where they end. */
function checkExtents(extents: readonly Extent[], at: number, end: number): number {
  assert.ok(extents.length > 0, `no extent at ${at}`);
  let next = at;
  for (const extent of extents) {
    assert.equal(extent.offset, next);
    assert.ok(extent.length > 0);
    next += extent.length;
    if (extent.kind === "data" && extent.stored.encoding === "plain") assert.equal(extent.stored.length, extent.length);
  }
  assert.ok(next <= end, `${next} is past ${end}`);
  return next;
}

/** True if the two should have been one. */
function isContinued(a: Extent, b: Extent): boolean {
  if (a.kind === "data" || b.kind === "data") {
    if (a.kind !== "data" || b.kind !== "data") return false;
    return (
      a.stored.encoding === "plain" && b.stored.encoding === "plain" && a.stored.offset + a.length === b.stored.offset
    );
  }
  if (a.kind !== b.kind) return false;
  return a.hostOffset === undefined ? b.hostOffset === undefined : a.hostOffset + a.length === b.hostOffset;
}

/** Reads a range one need at a time, so that several can take turns. */
function reading(
  image: DiskImage,
  file: Uint8Array,
  start: number,
  length: number,
): Generator<Need, void> & { readonly bytes: Buffer } {
  const bytes = Buffer.alloc(length, 0xee);
  return Object.assign(run(), { bytes });

  function* run(): Generator<Need, void> {
    for (let at = start; at < start + length;) {
      const parsing = image.extents(at, start + length - at);
      let step = parsing.next();
      while (step.done !== true) {
        yield step.value;
        const lent = answer(file, step.value);
        step = parsing.next(lent);
        lent.fill(0xa5);
      }
      for (const extent of step.value) {
        bytes.set(extentBytes(extent, file), extent.offset - start);
        at = extent.offset + extent.length;
      }
    }
  }
}
