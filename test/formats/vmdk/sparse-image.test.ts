import assert from "node:assert/strict";
import { describe, it } from "node:test";
import zlib from "node:zlib";
import { vmdk } from "../../../formats/vmdk/vmdk.ts";
import { buildDescriptor, buildExtent, entries } from "../../support/build-vmdk.ts";
import type { HeaderFields } from "../../support/build-vmdk.ts";
import { mutations, survive, survivePrefixes } from "../../support/hostile.ts";
import { allExtents, openImage, readDisk, scanDisk } from "../../support/parse.ts";
import { asStream } from "../../support/stream-format.ts";
import { assertSameMap, mapOf, rawOf } from "../../support/qemu-images.ts";
import { requireTools } from "../../support/tools.ts";

const GRAIN = 4096;

function grain(fill: number): Buffer {
  return Buffer.alloc(GRAIN, fill);
}

/**
 * Ten grains in three tables: the first in order, the second missing, the third behind the first grains; the last grain is
 * used to its half.
 */
function image(more: Partial<HeaderFields> = {}): Buffer {
  const capacity = 9 * 8 + 4;
  const fields = { capacity, grainSize: 8, entriesPerTable: 4, directory: 4, overhead: 6, ...more };
  return buildExtent(fields, buildDescriptor(capacity), [
    [4, entries(5, 0, 30)],
    [5, entries(14, 6, 1, 22)],
    [6, grain(2)],
    [14, grain(1)],
    [22, grain(4)],
    [30, entries(31, 39, 0, 0)],
    [31, grain(9)],
    [39, grain(10)],
  ]);
}
const ZEROED_GRAINS = 5; // with the newline test

describe("a sparse VMDK", () => {
  const expected = Buffer.concat([1, 2, 0, 4, 0, 0, 0, 0, 9, 10].map(grain)).subarray(0, 76 * 512);

  it("is read at random and in one pass, with a table behind some of the data", () => {
    const file = image({ flags: ZEROED_GRAINS });
    assert.ok(expected.equals(readDisk(vmdk, file)));
    assert.ok(expected.equals(readDisk(vmdk, file, 3000)));
    const scanned = scanDisk(asStream(vmdk), file);
    assert.ok(expected.equals(scanned.disk));
    assert.equal(scanned.lateBytes, 0);
  });

  it("is what qemu-img reads", { skip: requireTools("qemu-img") }, () => {
    for (const flags of [ZEROED_GRAINS, 1]) {
      const file = image({ flags });
      assert.ok(rawOf(file, "vmdk").equals(readDisk(vmdk, file)));
      assertSameMap(allExtents(openImage(vmdk, file), file), mapOf(file, "vmdk"), true);
    }
  });

  it("tells zeroed grains from holes, and merges what is contiguous on both sides", () => {
    const file = image({ flags: ZEROED_GRAINS });
    assert.deepEqual(
      allExtents(openImage(vmdk, file), file).map((e) => [e.kind, e.offset / GRAIN, e.length / GRAIN]),
      [
        ["data", 0, 1],
        ["data", 1, 1],
        ["zero", 2, 1],
        ["data", 3, 1],
        ["hole", 4, 4],
        ["data", 8, 1.5],
      ],
    );
    assert.deepEqual(openImage(vmdk, file).features, ["version 1", "grain size 4 KiB", "zeroed grains"]);
  });

  it("does not use the redundant directory", () => {
    assert.ok(expected.equals(readDisk(vmdk, image({ flags: ZEROED_GRAINS | 2, redundantDirectory: 99_999 }))));
  });

  it("warns of an unclean shutdown", () => {
    assert.deepEqual(openImage(vmdk, image()).warnings, []);
    assert.equal(openImage(vmdk, image({ unclean: true })).warnings[0]?.code, "VMDK_UNCLEAN");
  });

  it("may lack the end of its last grain past the disk's end, and nothing else", () => {
    const file = image({ flags: ZEROED_GRAINS });
    assert.ok(expected.equals(readDisk(vmdk, file.subarray(0, file.length - 2048))));
    for (const read of [readDisk, scanDisk]) {
      assert.throws(() => read(vmdk, file.subarray(0, file.length - 2049)), { code: "FORMAT_CORRUPT" });
    }
  });

  it("is refused with a grain or a table outside the file", () => {
    for (const [at, message] of [
      [5 * 512 + 4, /grain at sector 9999/],
      [4 * 512, /table at sector 9999/],
    ] as const) {
      const file = image();
      file.writeUInt32LE(9999, at);
      assert.throws(() => readDisk(vmdk, file), { code: "FORMAT_CORRUPT", message });
      assert.throws(() => scanDisk(vmdk, file), { code: "FORMAT_CORRUPT", message });
    }
    const file = image();
    file.writeUInt32LE(9999, 56);
    assert.throws(() => openImage(vmdk, file), { code: "FORMAT_INVALID", message: /directory ends/ });
  });

  it("is read with compressed grains that have no markers", () => {
    const fields = {
      capacity: 24,
      grainSize: 8,
      entriesPerTable: 4,
      directory: 4,
      overhead: 6,
      flags: 0x10001,
      compression: 1,
    };
    const file = buildExtent(fields, buildDescriptor(24), [
      [4, entries(5)],
      [5, entries(8, 0, 6, 0)],
      [6, zlib.deflateSync(grain(3))],
      [8, zlib.deflateSync(grain(1))],
    ]);
    const disk = Buffer.concat([1, 0, 3].map(grain));
    assert.ok(disk.equals(readDisk(vmdk, file)));
    const scanned = scanDisk(asStream(vmdk), file);
    assert.ok(disk.equals(scanned.disk));
    assert.equal(scanned.lateBytes, 0);
  });

  it("gives an error or a disk for every prefix", () => {
    survivePrefixes(vmdk, image(), 600, 97);
  });

  it("gives an error or a disk for a damaged header, descriptor or table", () => {
    const codes = new Set<string | undefined>();
    for (const damaged of mutations(image(), [[0, 80]], 150, 31)) codes.add(survive(vmdk, damaged));
    for (const damaged of mutations(image(), [[512, 700]], 50, 32)) codes.add(survive(vmdk, damaged));
    for (const damaged of mutations(image(), [[2048, 2576]], 150, 33)) codes.add(survive(vmdk, damaged));
    assert.ok(codes.has(undefined) && codes.has("FORMAT_CORRUPT") && codes.has("FORMAT_INVALID"));
  });
});
