import assert from "node:assert/strict";
import fs from "node:fs";
import { describe, it } from "node:test";
import type { Extent } from "../../formats/disk-format.ts";
import { dataRanges } from "../../importer/data-ranges.ts";
import { openRandomAccess } from "../../importer/random-access.ts";
import { openUnnamed } from "../../importer/temporary-file.ts";
import { memoryFolder } from "../support/temporary-folder.ts";

const KIB = 1024;

/** A file of `size` bytes with data in `pieces` only. */
function withSparse(size: number, pieces: readonly (readonly [number, number])[], body: (fd: number) => void): void {
  const fd = openUnnamed(memoryFolder());
  try {
    fs.ftruncateSync(fd, size);
    for (const [offset, length] of pieces) fs.writeSync(fd, Buffer.alloc(length, 1), 0, length, offset);
    body(fd);
  } finally {
    fs.closeSync(fd);
  }
}

function plainExtent(offset: number, length: number, hostOffset: number): Extent {
  return { kind: "data", offset, length, stored: { encoding: "plain", offset: hostOffset, length } };
}

/** [kind, offset, length, host offset] */
function shown(extents: readonly Extent[]): unknown[] {
  return extents.map((extent) => {
    const host =
      extent.kind === "data" ? extent.stored.encoding === "plain" && extent.stored.offset : extent.hostOffset;
    return [extent.kind, extent.offset, extent.length, host];
  });
}

describe("dataRanges", () => {
  it("cuts plain data where the file has holes", () => {
    withSparse(
      1024 * KIB,
      [
        [64 * KIB, 64 * KIB],
        [512 * KIB, 4 * KIB],
      ],
      (fd) => {
        const ranges = dataRanges(openRandomAccess({ fd, name: "x", size: 1024 * KIB }));
        assert.deepEqual(shown(ranges.split(plainExtent(8192 * KIB, 1024 * KIB, 0))), [
          ["zero", 8192 * KIB, 64 * KIB, 0],
          ["data", 8256 * KIB, 64 * KIB, 64 * KIB],
          ["zero", 8320 * KIB, 384 * KIB, 128 * KIB],
          ["data", 8704 * KIB, 4 * KIB, 512 * KIB],
          ["zero", 8708 * KIB, 508 * KIB, 516 * KIB],
        ]);
        // Backwards, as tables may go, and inside one range.
        assert.deepEqual(shown(ranges.split(plainExtent(0, 4 * KIB, 72 * KIB))), [["data", 0, 4 * KIB, 72 * KIB]]);
        assert.deepEqual(shown(ranges.split(plainExtent(0, 4 * KIB, 0))), [["zero", 0, 4 * KIB, 0]]);
        assert.deepEqual(shown(ranges.split(plainExtent(0, 8 * KIB, 60 * KIB))), [
          ["zero", 0, 4 * KIB, 60 * KIB],
          ["data", 4 * KIB, 4 * KIB, 64 * KIB],
        ]);
      },
    );
  });

  it("leaves what lies past the end of the file for the reader to refuse", () => {
    withSparse(128 * KIB, [[64 * KIB, 64 * KIB]], (fd) => {
      const ranges = dataRanges(openRandomAccess({ fd, name: "x", size: 128 * KIB }));
      assert.deepEqual(shown(ranges.split(plainExtent(0, 128 * KIB, 96 * KIB))), [["data", 0, 128 * KIB, 96 * KIB]]);
      assert.deepEqual(shown(ranges.split(plainExtent(0, 512, 4096 * KIB))), [["data", 0, 512, 4096 * KIB]]);
    });
    withSparse(128 * KIB, [[0, 4 * KIB]], (fd) => {
      const segments = Float64Array.of(0, 4 * KIB, 0);
      for (const spec of [
        { fd, name: "x", size: 128 * KIB },
        { fd, name: "x", size: 128 * KIB, segments },
      ]) {
        const ranges = dataRanges(openRandomAccess(spec));
        assert.deepEqual(shown(ranges.split(plainExtent(0, 256 * KIB, 0))), [
          ["data", 0, 4 * KIB, 0],
          ["zero", 4 * KIB, 124 * KIB, 4 * KIB],
          ["data", 128 * KIB, 128 * KIB, 128 * KIB],
        ]);
      }
    });
  });

  it("knows the holes of a sparse member from its segments", () => {
    withSparse(1024 * KIB, [[0, 1024 * KIB]], (fd) => {
      const segments = Float64Array.of(4 * KIB, 8 * KIB, 512 * KIB);
      const ranges = dataRanges(openRandomAccess({ fd, name: "x", size: 64 * KIB, segments }));
      assert.deepEqual(shown(ranges.split(plainExtent(0, 64 * KIB, 0))), [
        ["zero", 0, 4 * KIB, 0],
        ["data", 4 * KIB, 8 * KIB, 4 * KIB],
        ["zero", 12 * KIB, 52 * KIB, 12 * KIB],
      ]);
    });
  });

  it("leaves everything but plain data alone", () => {
    withSparse(1024 * KIB, [], (fd) => {
      const ranges = dataRanges(openRandomAccess({ fd, name: "x", size: 1024 * KIB }));
      const stored = { encoding: "zlib", offset: 0, length: 100, decodedLength: 64 * KIB, skip: 0 } as const;
      const extents: Extent[] = [
        { kind: "data", offset: 0, length: 64 * KIB, stored },
        { kind: "hole", offset: 0, length: 512 },
        { kind: "zero", offset: 0, length: 512, hostOffset: 0 },
      ];
      for (const extent of extents) assert.deepEqual(ranges.split(extent), [extent]);
    });
  });
});
