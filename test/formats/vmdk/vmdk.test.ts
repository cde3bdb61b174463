import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { vmdk } from "../../../formats/vmdk/vmdk.ts";
import { baseDisk } from "../../support/base-disk.ts";
import { buildDescriptor, buildExtent, entries } from "../../support/build-vmdk.ts";
import { allExtents, openImage, parse, readDisk, scanDisk } from "../../support/parse.ts";
import { asStream } from "../../support/stream-format.ts";
import { assertSameMap, imageOf, inTemporaryFolder, mapOf } from "../../support/qemu-images.ts";
import { requireTools } from "../../support/tools.ts";

const MIB = 1024 * 1024;
const skip = requireTools("qemu-img");

/** The files that qemu-img writes for a disk of several. */
function filesOf(subformat: string, names: readonly string[]): Buffer[] {
  return inTemporaryFolder((folder) => {
    writeFileSync(path.join(folder, "base.raw"), baseDisk(MIB));
    const args = ["convert", "-f", "raw", "-O", "vmdk", "-o", `subformat=${subformat}`, "base.raw", "disk.vmdk"];
    execFileSync("qemu-img", args, { cwd: folder });
    return names.map((name) => readFileSync(path.join(folder, name)));
  });
}

describe("vmdk from qemu-img", { skip }, () => {
  for (const [name, options] of [
    ["monolithicSparse", []],
    ["monolithicSparse with zeroed grains, version 2", ["-o", "zeroed_grain=on"]],
    ["V02: streamOptimized, version 3", ["-o", "subformat=streamOptimized"]],
    ["streamOptimized, written out of order", ["-W", "-m", "8", "-o", "subformat=streamOptimized"]],
    ["monolithicSparse, written out of order", ["-W", "-m", "8"]],
  ] as const) {
    // More than one grain table for the two that every tool writes.
    for (const length of options.length === 2 || options.length === 0 ? [36 * MIB, 5 * MIB + 512] : [5 * MIB + 512]) {
      it(`reads ${name}, ${length} bytes, at random and in one pass`, () => {
        const disk = baseDisk(length);
        const image = imageOf(disk, "vmdk", options);
        assert.ok(vmdk.probe(image.subarray(0, 65536), undefined));
        assert.ok(disk.equals(readDisk(vmdk, image)));
        if (length < 36 * MIB) assert.ok(disk.equals(readDisk(vmdk, image, 700_001)));
        for (const format of [vmdk, asStream(vmdk)]) {
          const scanned = scanDisk(format, image);
          assert.ok(disk.equals(scanned.disk));
          assert.equal(scanned.lateBytes, 0);
        }
        assertSameMap(allExtents(openImage(vmdk, image), image), mapOf(image, "vmdk"), true);
      });
    }
  }

  for (const subformat of ["monolithicFlat", "twoGbMaxExtentFlat", "twoGbMaxExtentSparse"]) {
    it(`V04 V05: refuses the descriptor of ${subformat} with the files it needs`, () => {
      const [descriptor = Buffer.alloc(0)] = filesOf(subformat, ["disk.vmdk"]);
      assert.ok(vmdk.probe(descriptor, undefined));
      for (const hostSize of [descriptor.length, undefined]) {
        assert.throws(() => parse(descriptor, vmdk.open(hostSize)), {
          code: "FORMAT_UNSUPPORTED",
          message: /"disk-(flat|f001|s001)\.vmdk"/,
          remedy: /one file/,
        });
      }
    });
  }

  it("V05: refuses an extent of twoGbMaxExtentSparse on its own", () => {
    const [extent = Buffer.alloc(0)] = filesOf("twoGbMaxExtentSparse", ["disk-s001.vmdk"]);
    assert.ok(vmdk.probe(extent, undefined));
    assert.throws(() => openImage(vmdk, extent), { code: "FORMAT_UNSUPPORTED", message: /one extent of a split disk/ });
  });
});

describe("vmdk", () => {
  const sparse = (lines: readonly string[] = [], createType?: string): Buffer =>
    buildExtent(
      { capacity: 8, grainSize: 8, entriesPerTable: 4, directory: 4, overhead: 6 },
      buildDescriptor(8, createType, lines),
      [
        [4, entries(5)],
        [5, entries(6, 0, 0, 0)],
        [6, Buffer.alloc(4096, 7)],
      ],
    );

  it("reads the smallest of them", () => {
    assert.ok(Buffer.alloc(4096, 7).equals(readDisk(vmdk, sparse())));
  });

  it("V12: knows seSparse and COWD, and refuses them by name", () => {
    const seSparse = Buffer.alloc(4096);
    seSparse.writeBigUInt64LE(0xcafebaben);
    const cowd = Buffer.alloc(4096);
    cowd.write("COWD\x01", "latin1");
    for (const [file, message] of [
      [seSparse, /seSparse/],
      [cowd, /COWD/],
    ] as const) {
      assert.ok(vmdk.probe(file, undefined));
      assert.throws(() => openImage(vmdk, file), { code: "FORMAT_UNSUPPORTED", message, remedy: /vmkfstools/ });
    }
  });

  it("V07: never follows a descriptor that names a file of this host", () => {
    const text = buildDescriptor(8, "monolithicFlat", ['RW 8 FLAT "/etc/hostname" 0']);
    const needs: { offset: number }[] = [];
    const file = Buffer.from(text);
    assert.throws(() => parse(file, vmdk.open(file.length), needs as never), {
      code: "FORMAT_UNSUPPORTED",
      message: /"\/etc\/hostname"/,
    });
    assert.ok(needs.every((need) => need.offset < file.length));
  });

  it("refuses an embedded descriptor of a disk that has more", () => {
    for (const lines of [
      ['RW 8 SPARSE "a.vmdk"', 'RW 8 SPARSE "b.vmdk"'],
      ['RW 8 FLAT "a-flat.vmdk" 0'],
      ['parentFileNameHint="base.vmdk"'],
      ["parentCID=01234567"],
    ]) {
      assert.throws(() => openImage(vmdk, sparse(lines)), { code: "FORMAT_UNSUPPORTED" });
    }
    assert.throws(() => openImage(vmdk, sparse([], "twoGbMaxExtentSparse")), { message: /twoGbMaxExtentSparse/ });
    const without = sparse();
    without.fill(0, 28, 44);
    assert.throws(() => openImage(vmdk, without), { message: /one extent of a split disk/ });
  });

  it("refuses a descriptor that is far away or huge, before it reads it", () => {
    for (const [at, value] of [
      [28, 0x40000],
      [36, 0x201],
    ] as const) {
      const file = sparse();
      file.writeUInt32LE(value, at);
      assert.throws(() => openImage(vmdk, file), { code: "FORMAT_OUT_OF_BOUNDS", message: /descriptor/ });
    }
  });

  it("refuses an empty disk, and a file that ends in its metadata", () => {
    const empty = sparse();
    empty.writeUInt32LE(0, 12);
    assert.throws(() => openImage(vmdk, empty), { code: "FORMAT_INVALID", message: /capacity is 0/ });
    assert.throws(() => openImage(vmdk, sparse().subarray(0, 5 * 512)), {
      code: "FORMAT_INVALID",
      remedy: /cut short/,
    });
    assert.throws(() => openImage(vmdk, sparse().subarray(0, 100)), { code: "FORMAT_INVALID", message: /100 bytes/ });
    assert.throws(() => openImage(vmdk, Buffer.alloc(512)), { code: "FORMAT_UNRECOGNISED" });
  });
});
