import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { FormatError } from "../../formats/errors.ts";
import { vdi } from "../../formats/vdi.ts";
import { baseDisk } from "../support/base-disk.ts";
import { buildVdi } from "../support/build-vdi.ts";
import { mutations, survive, survivePrefixes } from "../support/hostile.ts";
import { allExtents, openImage, readDisk, scanDisk } from "../support/parse.ts";
import { asStream } from "../support/stream-format.ts";
import { assertSameMap, imageOf, mapOf, rawOf } from "../support/qemu-images.ts";
import { requireTools } from "../support/tools.ts";

const skip = requireTools("qemu-img");
const MIB = 1024 * 1024;
const FREE = 0xffffffff;
const ZERO = 0xfffffffe;

function block(fill: number, size: number): Uint8Array {
  return new Uint8Array(size).fill(fill);
}

/** Blocks 1 and 0 of the file, a hole, a zero block, and a last block that the disk uses in part. */
function mixedImage(blockSize: number): Buffer {
  return buildVdi({
    blockSize,
    virtualSize: 4 * blockSize + 1024,
    map: [1, FREE, ZERO, 0, 2],
    blocks: [block(3, blockSize), block(1, blockSize), block(5, blockSize)],
  });
}

describe("vdi from qemu-img", { skip }, () => {
  for (const [name, options] of [
    ["dynamic", []],
    ["static", ["-o", "static=on"]],
  ] as const) {
    for (const length of [8 * MIB, 5 * MIB + 512]) {
      it(`H12: reads a ${name} image of ${length} bytes at random and in one pass`, () => {
        const disk = baseDisk(length);
        const image = imageOf(disk, "vdi", options);
        assert.ok(vdi.probe(image.subarray(0, 65536), undefined));
        assert.ok(disk.equals(readDisk(vdi, image)));
        assert.ok(disk.equals(readDisk(vdi, image, 700_001)));
        for (const format of [vdi, asStream(vdi)]) {
          const scanned = scanDisk(format, image);
          assert.ok(disk.equals(scanned.disk));
          assert.equal(scanned.lateBytes, 0);
        }
        assertSameMap(allExtents(openImage(vdi, image), image), mapOf(image, "vdi"), false);
      });
    }
  }

  it("reads zero blocks and blocks out of order as qemu-img does", () => {
    const image = mixedImage(MIB);
    assert.ok(rawOf(image, "vdi").equals(readDisk(vdi, image)));
    assertSameMap(allExtents(openImage(vdi, image), image), mapOf(image, "vdi"), false);
  });

  it("rounds an odd disk size up to a sector as qemu-img does", () => {
    const image = buildVdi({ virtualSize: 2 * MIB - 700, map: [0, FREE], blocks: [block(1, MIB)] });
    const disk = readDisk(vdi, image);
    assert.equal(disk.length, 2 * MIB - 512);
    assert.ok(rawOf(image, "vdi").equals(disk));
  });
});

describe("vdi", () => {
  for (const blockSize of [4096, 512 * 1024, 4 * MIB]) {
    it(`reads blocks of ${blockSize} bytes`, () => {
      const image = mixedImage(blockSize);
      const disk = readDisk(vdi, image);
      const expected = Buffer.alloc(4 * blockSize + 1024);
      expected
        .fill(1, 0, blockSize)
        .fill(3, 3 * blockSize, 4 * blockSize)
        .fill(5, 4 * blockSize);
      assert.ok(expected.equals(disk));
      assert.ok(expected.equals(scanDisk(asStream(vdi), image).disk));
    });
  }

  it("tells holes from zeros, and merges what is contiguous on both sides", () => {
    const image = buildVdi({
      blockSize: 4096,
      virtualSize: 7 * 4096,
      map: [0, 1, FREE, FREE, ZERO, ZERO, 2],
      blocks: [block(1, 4096), block(2, 4096), block(3, 4096)],
    });
    assert.deepEqual(
      allExtents(openImage(vdi, image), image).map((e) => [e.kind, e.offset / 4096, e.length / 4096]),
      [
        ["data", 0, 2],
        ["hole", 2, 2],
        ["zero", 4, 2],
        ["data", 6, 1],
      ],
    );
  });

  it("scans in host order, whatever the order on the disk", () => {
    const count = 3000;
    const map = Array.from({ length: count }, (_, i) => (i * 1009) % count);
    const blocks = Array.from({ length: count }, (_, i) => block(i & 0xff, 4096));
    const image = buildVdi({ blockSize: 4096, virtualSize: count * 4096, map, blocks });
    const opened = openImage(vdi, image);
    const hosts = [];
    const scan = opened.scan();
    for (let step = scan.next(); step.done !== true;) {
      if ("peek" in step.value || "offset" in step.value) {
        step = scan.next(Uint8Array.from(image.subarray(step.value.offset, step.value.offset + step.value.length)));
        continue;
      }
      for (const extent of step.value as never as { stored: { offset: number } }[]) hosts.push(extent.stored.offset);
      step = scan.next();
    }
    assert.equal(hosts.length, count);
    assert.deepEqual(
      hosts,
      hosts.toSorted((a, b) => a - b),
    );
    assert.ok(Buffer.from(readDisk(vdi, image)).equals(scanDisk(vdi, image).disk));
  });

  it("lets two map entries name the same block", () => {
    const image = buildVdi({ blockSize: 4096, virtualSize: 8192, map: [0, 0], blocks: [block(9, 4096)] });
    assert.ok(readDisk(vdi, image).every((byte) => byte === 9));
  });

  it("accepts a last block that the file cuts past the disk's end, and no other", () => {
    const image = mixedImage(4096);
    assert.ok(readDisk(vdi, image.subarray(0, image.length - 3072)).at(-1) === 5);
    assert.throws(() => readDisk(vdi, image.subarray(0, image.length - 3073)), { code: "FORMAT_CORRUPT" });
    assert.throws(() => scanDisk(vdi, image.subarray(0, image.length - 3073)), { code: "FORMAT_CORRUPT" });
  });

  const field =
    (at: number, value: number): ((image: Buffer) => void) =>
    (image) => {
      image.writeUInt32LE(value, at);
    };
  for (const [name, change, code, text] of [
    ["an undo image", field(0x4c, 3), "FORMAT_UNSUPPORTED", /undo/],
    ["a differencing image", field(0x4c, 4), "FORMAT_UNSUPPORTED", /differencing/],
    ["an unknown type", field(0x4c, 9), "FORMAT_UNSUPPORTED", /type 9/],
    ["a parent's UUID", field(0x1b8, 1), "FORMAT_UNSUPPORTED", /parent/],
    ["a linked image's UUID", field(0x1a8, 1), "FORMAT_UNSUPPORTED", /parent/],
    ["version 0.1", field(0x44, 1), "FORMAT_UNSUPPORTED", /version 0\.1/],
    ["sectors of 4096", field(0x168, 4096), "FORMAT_UNSUPPORTED", /sector size 4096/],
    ["extra bytes per block", field(0x17c, 512), "FORMAT_UNSUPPORTED", /512 extra bytes/],
    ["a block size of 3 KiB", field(0x178, 3072), "FORMAT_OUT_OF_BOUNDS", /block size 3072/],
    ["a block size of 2 GiB", field(0x178, 0x80000000), "FORMAT_OUT_OF_BOUNDS", /block size/],
    ["too many blocks", field(0x180, 0x20000001), "FORMAT_OUT_OF_BOUNDS", /block count/],
    ["a disk larger than its map", field(0x180, 4), "FORMAT_INVALID", /4 blocks/],
    ["a disk size above 2^53", field(0x174, 0x80000000), "FORMAT_OUT_OF_BOUNDS", /disk size/],
    ["a block map in the header", field(0x154, 0), "FORMAT_INVALID", /block map offset/],
    ["blocks inside the block map", field(0x158, 512), "FORMAT_INVALID", /data offset/],
    ["a block map beyond the end of the file", field(0x154, 0x40000000), "FORMAT_INVALID", /./],
    ["a block beyond the end of the file", field(0x200, 77), "FORMAT_CORRUPT", /block 77/],
    ["a block beyond any file", field(0x200, 0xfffffffd), "FORMAT_CORRUPT", /block 4294967293/],
  ] as const) {
    it(`refuses ${name}`, () => {
      const image = mixedImage(4096);
      change(image);
      assert.throws(
        () => readDisk(vdi, image),
        (error: FormatError) => error.code === code && text.test(error.message),
      );
    });
  }

  it("names a remedy where a parent is needed", () => {
    const image = mixedImage(4096);
    image.writeUInt32LE(4, 0x4c);
    assert.throws(() => openImage(vdi, image), { remedy: /VBoxManage clonemedium/ });
  });

  it("gives an error or a disk for every prefix", () => {
    survivePrefixes(vdi, mixedImage(4096), 600, 97);
  });

  it("gives an error or a disk for damaged headers and maps", () => {
    const image = mixedImage(4096);
    const codes = new Set<string | undefined>();
    for (const damaged of mutations(image, [[0x40, 0x220]], 300, 11)) codes.add(survive(vdi, damaged));
    assert.ok(codes.has(undefined) && codes.has("FORMAT_UNSUPPORTED") && codes.has("FORMAT_CORRUPT"));
  });
});
