import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MAX_ANNOUNCED } from "../../../formats/disk-format.ts";
import type { Extent } from "../../../formats/disk-format.ts";
import { FormatError } from "../../../formats/errors.ts";
import { detectFormat } from "../../../formats/registry.ts";
import { vhdx } from "../../../formats/vhdx/vhdx.ts";
import { baseDisk } from "../../support/base-disk.ts";
import * as build from "../../support/build-vhdx.ts";
import { allExtents, openImage, parse, readDisk, scanDisk } from "../../support/parse.ts";
import { imageOf, mapOf, rawOf } from "../../support/qemu-images.ts";
import { requireTools } from "../../support/tools.ts";

const MIB = 1024 * 1024;
const skip = requireTools("qemu-img");

function assertReads(file: Uint8Array, disk: Uint8Array): void {
  assert.equal(Buffer.compare(readDisk(vhdx, file), disk), 0, "read whole");
  assert.equal(Buffer.compare(readDisk(vhdx, file, 700_001), disk), 0, "read in steps");
  const scanned = scanDisk(vhdx, file);
  assert.equal(Buffer.compare(scanned.disk, disk), 0, "read in one pass");
  assert.equal(Buffer.compare(scanDisk(vhdx, file, undefined).disk, disk), 0, "read as a stream of unknown length");
}

function shape(extents: readonly Extent[]): (string | number)[][] {
  return extents.map((e) => [e.kind, e.offset / MIB, e.length / MIB]);
}

describe("vhdx made by qemu-img", { skip }, () => {
  for (const [name, ...options] of [
    ["dynamic"],
    ["fixed", "-o", "subformat=fixed"],
    ["blocks of 1 MiB", "-o", "block_size=1M"],
    ["blocks of 8 MiB", "-o", "block_size=8M"],
    ["blocks of 256 MiB", "-o", "block_size=256M"],
    ["a log of 4 MiB", "-o", "log_size=4M"],
    ["blocks of state NOT_PRESENT", "-o", "block_size=1M,block_state_zero=off"],
  ]) {
    it(`reads ${name}, and has nothing to wait for in one pass`, () => {
      const disk = baseDisk();
      const file = imageOf(disk, "vhdx", options);
      assert.equal(detectFormat(file.subarray(0, 65536), undefined), vhdx);
      assertReads(file, disk);
      assert.equal(scanDisk(vhdx, file).lateBytes, 0);
      assert.deepEqual(openImage(vhdx, file).warnings, []);
    });
  }

  for (const subformat of ["dynamic", "fixed"]) {
    it(`reads a ${subformat} disk whose last block is partly used, also if the rest of that block is cut off`, () => {
      const disk = baseDisk(9 * MIB + 1536);
      const file = imageOf(disk, "vhdx", ["-o", `subformat=${subformat},block_size=8M`]);
      assertReads(file, disk);
      const used = Math.max(...allExtents(openImage(vhdx, file), file).map((e) => hostEnd(e)));
      assert.ok(used < file.length);
      assertReads(file.subarray(0, used), disk);
      assert.throws(() => readDisk(vhdx, file.subarray(0, used - 1)), corrupt(/block 1 .* lies outside the file/));
    });
  }

  it("reads disks of 0 and of 512 bytes", () => {
    for (const size of [0, 512]) assertReads(imageOf(new Uint8Array(size), "vhdx"), new Uint8Array(size));
  });

  it("maps at least what qemu-img maps, which calls all of a VHDX data", () => {
    const file = imageOf(baseDisk(), "vhdx", ["-o", "block_size=1M"]);
    assert.deepEqual(
      mapOf(file, "vhdx").map((e) => [e.start, e.length, e.data, e.offset]),
      [[0, 8 * MIB, true, undefined]],
    );
    assert.deepEqual(shape(allExtents(openImage(vhdx, file), file)), [
      ["data", 0, 1],
      ["zero", 1, 2],
      ["data", 3, 1],
      ["zero", 4, 1],
      ["data", 5, 1],
      ["zero", 6, 1],
      ["data", 7, 1],
    ]);
  });

  it("leaves the file as it is (H11)", () => {
    const file = imageOf(baseDisk(), "vhdx");
    const before = Buffer.from(file);
    assertReads(file, baseDisk());
    assert.equal(Buffer.compare(file, before), 0);
  });
});

describe("vhdx built by the specification", () => {
  for (const blockSize of [1, 2, 32]) {
    it(`reads blocks of ${blockSize} MiB as qemu-img does`, { skip }, () => {
      const disk = baseDisk(5 * MIB + 512);
      const file = build.buildVhdx({ disk, blockSize: blockSize * MIB });
      assertReads(file, disk);
      assert.equal(Buffer.compare(rawOf(file, "vhdx"), disk), 0, "qemu-img reads the same");
    });

    // qemu-img reads no such file: it refuses all but 512.
    it(`reads 4096-byte logical sectors with blocks of ${blockSize} MiB (H08)`, () => {
      const disk = baseDisk(5 * MIB + 4096);
      const file = build.buildVhdx({ disk, blockSize: blockSize * MIB, logicalSectorSize: 4096 });
      assertReads(file, disk);
      assert.ok(openImage(vhdx, file).features.includes("logical sector size 4096"));
    });
  }

  it("reads zeros from every block state without data, as qemu-img does", { skip }, () => {
    const disk = new Uint8Array(7 * MIB);
    disk.fill(1, 6 * MIB);
    const states = [0, 1, 2, 3, 5, 2];
    const file = build.buildVhdx({ disk, stateOf: (block) => states[block] });
    assertReads(file, disk);
    assert.equal(Buffer.compare(rawOf(file, "vhdx"), disk), 0);
    assert.deepEqual(shape(allExtents(openImage(vhdx, file), file)), [
      ["hole", 0, 2],
      ["zero", 2, 1],
      ["hole", 3, 2],
      ["zero", 5, 1],
      ["data", 6, 1],
    ]);
  });

  it("announces blocks in host order, whatever their virtual order", () => {
    const disk = baseDisk(8 * MIB).fill(9);
    const file = build.buildVhdx({ disk, reversed: true });
    assertReads(file, disk);
    const scan = openImage(vhdx, file).scan();
    const step = scan.next();
    assert.ok(step.done !== true && Array.isArray(step.value));
    const ends = (step.value as readonly Extent[]).map((e) => hostEnd(e));
    assert.deepEqual(
      ends,
      ends.toSorted((a, b) => a - b),
    );
    assert.equal(scanDisk(vhdx, file).lateBytes, 0);
  });

  it("merges blocks that are neighbours in the file too, and no others", () => {
    const disk = new Uint8Array(4 * MIB).fill(1);
    const ordered = build.buildVhdx({ disk });
    assert.deepEqual(shape(allExtents(openImage(vhdx, ordered), ordered)), [["data", 0, 4]]);
    const reversed = build.buildVhdx({ disk, reversed: true });
    assert.equal(allExtents(openImage(vhdx, reversed), reversed).length, 4);
  });

  // With blocks of 256 MiB a bitmap's entry follows every 16 blocks, or 128 with sectors of 4096.
  for (const [sectorSize, ratio] of [
    [512, 16],
    [4096, 128],
  ] as const) {
    it(`skips the entries of sector bitmaps with sectors of ${sectorSize}, whatever they hold`, () => {
      const blockSize = 256 * MIB;
      const file = build.buildVhdx({ disk: new Uint8Array(MIB).fill(5), blockSize, logicalSectorSize: sectorSize });
      file.writeBigUInt64LE(BigInt(ratio * blockSize + MIB), build.VIRTUAL_DISK_SIZE);
      file.writeBigUInt64LE(0n, build.BAT);
      file.writeBigUInt64LE(0x7ff_0000_0007n, build.BAT + ratio * 8);
      file.writeBigUInt64LE(BigInt(build.PAYLOAD) | 6n, build.BAT + (ratio + 1) * 8);
      assert.deepEqual(shape(allExtents(openImage(vhdx, file), file)), [
        ["hole", 0, ratio * 256],
        ["data", ratio * 256, 1],
      ]);
      const scan = openImage(vhdx, file).scan();
      assert.deepEqual(shape(scan.next().value as readonly Extent[]), [["data", ratio * 256, 1]]);
    });
  }

  it("answers and announces no more than MAX_ANNOUNCED extents at once, and merges across pages of the BAT", () => {
    // 16 GiB in blocks of 1 MiB: every other block has data, and all of it is the same MiB of the file.
    const file = build.buildVhdx({ disk: new Uint8Array(MIB).fill(3) });
    const blocks = 20_000;
    file.writeBigUInt64LE(BigInt(blocks * MIB), build.VIRTUAL_DISK_SIZE);
    for (let block = 0; block < blocks; block += 2)
      file.writeBigUInt64LE(BigInt(build.PAYLOAD) | 6n, build.batEntry(block));
    const image = openImage(vhdx, file);
    assert.equal(parse(file, image.extents(0, blocks * MIB)).length, MAX_ANNOUNCED);
    assert.equal(allExtents(image, file).length, blocks);
    const scan = image.scan();
    let announced = 0;
    for (let step = scan.next(); step.done !== true; step = scan.next()) {
      assert.ok(Array.isArray(step.value) && step.value.length <= MAX_ANNOUNCED);
      announced += step.value.length;
    }
    assert.equal(announced, blocks / 2);
  });

  it("refuses a block outside the file, inside a region, or inside the header section", () => {
    const disk = new Uint8Array(2 * MIB).fill(1);
    for (const [offset, message] of [
      [build.PAYLOAD + 2 * MIB, /block 1 at host offset 0x600000 lies outside the file \(size 0x600000\)/],
      [build.BAT, /block 1 at host offset 0x200000 overlaps the BAT/],
      [build.LOG, /overlaps the log/],
      [build.METADATA, /overlaps the metadata region/],
      [0, /overlaps the header section/],
    ] as const) {
      const file = build.buildVhdx({ disk });
      file.writeBigUInt64LE(BigInt(offset) | 6n, build.batEntry(1));
      assert.throws(() => readDisk(vhdx, file), corrupt(message));
      assert.throws(() => scanDisk(vhdx, file), corrupt(message));
    }
  });

  it("reads an image whose BAT lies behind its payload, in one pass too", () => {
    const disk = baseDisk(3 * MIB);
    const file = Buffer.concat([build.buildVhdx({ disk }), Buffer.alloc(MIB)]);
    const end = file.length - MIB;
    file.copy(file, end, build.BAT, build.BAT + MIB);
    file.fill(0xff, build.BAT, build.BAT + MIB);
    for (const table of [build.REGION_TABLE_1, build.REGION_TABLE_2]) file.writeBigUInt64LE(BigInt(end), table + 32);
    build.sealVhdx(file);
    assertReads(file, disk);
  });

  it("is not what does not start with its signature", () => {
    const file = build.buildVhdx({ disk: new Uint8Array(512) });
    file[3] = 0;
    assert.equal(vhdx.probe(file, undefined), false);
    assert.throws(
      () => openImage(vhdx, file),
      (e) => e instanceof FormatError && e.code === "FORMAT_UNRECOGNISED",
    );
  });
});

function hostEnd(extent: Extent): number {
  return extent.kind === "data" && extent.stored.encoding === "plain" ? extent.stored.offset + extent.stored.length : 0;
}

function corrupt(message: RegExp): (error: unknown) => boolean {
  return (error) => error instanceof FormatError && error.code === "FORMAT_CORRUPT" && message.test(error.message);
}
