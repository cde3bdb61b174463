import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { vpc } from "../../../formats/vpc/vpc.ts";
import { baseDisk } from "../../support/base-disk.ts";
import { buildDynamicVhd, TABLE_AT } from "../../support/build-vhd.ts";
import type { VhdParts } from "../../support/build-vhd.ts";
import { mutations, survive, survivePrefixes } from "../../support/hostile.ts";
import { allExtents, openImage, readDisk, scanDisk } from "../../support/parse.ts";
import { asStream } from "../../support/stream-format.ts";
import { assertSameMap, imageOf, mapOf, rawOf } from "../../support/qemu-images.ts";
import { requireTools } from "../../support/tools.ts";

const MIB = 1024 * 1024;
const skip = requireTools("qemu-img");

function block(fill: number, size: number): Uint8Array {
  return new Uint8Array(size).fill(fill);
}

/** Blocks out of order, a hole, and a last block that the disk uses in part. */
function mixed(blockSize: number, more: Partial<VhdParts> = {}): Buffer {
  return buildDynamicVhd({
    currentSize: 3 * blockSize + 1024,
    blockSize,
    table: [1, undefined, 0, 2],
    blocks: [block(3, blockSize), block(1, blockSize), block(4, blockSize)],
    ...more,
  });
}

function mixedDisk(blockSize: number): Buffer {
  const disk = Buffer.alloc(3 * blockSize + 1024, 4);
  return disk
    .fill(1, 0, blockSize)
    .fill(0, blockSize, 2 * blockSize)
    .fill(3, 2 * blockSize, 3 * blockSize);
}

describe("a dynamic VHD from qemu-img", { skip }, () => {
  for (const [options, size] of [
    [[], 8_390_656], // H03: rounded up to a geometry
    [["-o", "force_size=on"], 8_388_608],
  ] as const) {
    it(`reads ${size} bytes at random and in one pass`, () => {
      const disk = Buffer.alloc(size);
      baseDisk(8 * MIB).copy(disk);
      disk.fill(0, 2 * MIB, 6 * MIB); // blocks that are not stored
      const image = imageOf(disk.subarray(0, 8 * MIB), "vpc", options);
      assert.ok(vpc.probe(image.subarray(0, 65536), undefined));
      assert.ok(disk.equals(readDisk(vpc, image)));
      assert.ok(disk.equals(readDisk(vpc, image, 700_001)));
      for (const format of [vpc, asStream(vpc)]) {
        const scanned = scanDisk(format, image);
        assert.ok(disk.equals(scanned.disk));
        assert.equal(scanned.lateBytes, 0);
      }
      assertSameMap(allExtents(openImage(vpc, image), image), mapOf(image, "vpc"), false);
    });
  }

  it("reads blocks of 512 KiB, out of order, as qemu-img does", () => {
    const image = mixed(512 * 1024);
    assert.ok(rawOf(image, "vpc").equals(readDisk(vpc, image)));
    assertSameMap(allExtents(openImage(vpc, image), image), mapOf(image, "vpc"), false);
  });

  it("reads a block whole, whatever its bitmap says, as qemu-img does", () => {
    for (const bitmap of [0, 0x0f]) {
      const image = mixed(2 * MIB, { bitmap });
      assert.ok(rawOf(image, "vpc").equals(readDisk(vpc, image)));
      assert.ok(mixedDisk(2 * MIB).equals(readDisk(vpc, image)));
    }
  });

  it("cuts an odd size to whole sectors as qemu-img does", () => {
    const image = mixed(2 * MIB, { currentSize: 7 * MIB - 100 });
    assert.ok(rawOf(image, "vpc").equals(readDisk(vpc, image)));
  });
});

describe("a dynamic VHD", () => {
  for (const blockSize of [512, 4096, 4 * MIB]) {
    it(`is read with blocks of ${blockSize} bytes`, () => {
      const image = mixed(blockSize, { currentSize: 3 * blockSize + Math.min(1024, blockSize) });
      const expected = mixedDisk(blockSize).subarray(0, 3 * blockSize + Math.min(1024, blockSize));
      assert.ok(expected.equals(readDisk(vpc, image)));
      const scanned = scanDisk(asStream(vpc), image);
      assert.ok(expected.equals(scanned.disk));
      assert.equal(scanned.lateBytes, 0);
    });
  }

  it("may lack the end of its last block past the disk's end, and nothing else", () => {
    const image = mixed(4096);
    const end = image.length - 512; // the footer
    assert.ok(mixedDisk(4096).equals(readDisk(vpc, image.subarray(0, end - 3072))));
    assert.throws(() => readDisk(vpc, image.subarray(0, end - 3073)), { code: "FORMAT_CORRUPT" });
    assert.throws(() => scanDisk(vpc, image.subarray(0, end - 3073)), { code: "FORMAT_CORRUPT" });
  });

  it("is refused with a block beyond the file or in its own table", () => {
    for (const [sector, text] of [
      [0x1000, /sector 4096 ends at/],
      [0xfffffffe, /outside the file/],
      [2, /in the block table/],
    ] as const) {
      const image = mixed(4096);
      image.writeUInt32BE(sector, TABLE_AT + 4);
      assert.throws(() => readDisk(vpc, image), { code: "FORMAT_CORRUPT", message: text });
      assert.throws(() => scanDisk(vpc, image), { code: "FORMAT_CORRUPT", message: text });
    }
  });

  it("is refused where its table is too small for the disk, or leaves the file", () => {
    assert.throws(() => openImage(vpc, mixed(4096, { currentSize: 4 * 4096 + 512 })), { code: "FORMAT_INVALID" });
    assert.throws(() => openImage(vpc, mixed(4096).subarray(0, TABLE_AT + 15)), { code: "FORMAT_INVALID" });
  });

  it("warns where the geometry leaves out the end of the disk", () => {
    const image = mixed(4096, { creator: "vpc ", geometry: [2, 3, 4] });
    const opened = openImage(vpc, image);
    assert.equal(opened.virtualSize, 2 * 3 * 4 * 512);
    assert.deepEqual(
      opened.warnings.map((warning) => warning.code),
      ["VPC_SIZED_BY_GEOMETRY"],
    );
    assert.deepEqual(opened.features, ["dynamic", "block size 4 KiB", "creator vpc"]);
  });

  it("gives an error or a disk for every prefix", () => {
    survivePrefixes(vpc, mixed(4096), 1700, 97);
  });

  it("gives an error or a disk for a damaged header or table", () => {
    const image = mixed(4096);
    const codes = new Set<string | undefined>();
    // The header's checksum hides most damage of it; dynamic-header.test.ts changes its fields one by one.
    for (const damaged of mutations(image, [[TABLE_AT, TABLE_AT + 32]], 200, 5)) codes.add(survive(vpc, damaged));
    for (const damaged of mutations(image, [[0, 1600]], 150, 6)) codes.add(survive(vpc, damaged));
    assert.deepEqual(codes, new Set(["FORMAT_CORRUPT", "FORMAT_INVALID", undefined]));
  });
});
