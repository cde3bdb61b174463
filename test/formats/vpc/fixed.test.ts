import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { vpc } from "../../../formats/vpc/vpc.ts";
import { raw } from "../../../formats/raw.ts";
import { baseDisk } from "../../support/base-disk.ts";
import { buildFooter } from "../../support/build-vhd.ts";
import { allExtents, openImage, readDisk, scanDisk } from "../../support/parse.ts";
import { assertSameMap, imageOf, mapOf } from "../../support/qemu-images.ts";
import { requireTools } from "../../support/tools.ts";

const MIB = 1024 * 1024;

describe("a fixed VHD from qemu-img", { skip: requireTools("qemu-img") }, () => {
  it("H01: is known by its footer, which is no part of the disk", () => {
    const disk = baseDisk();
    const image = imageOf(disk, "vpc", ["-o", "subformat=fixed,force_size=on"]);
    assert.equal(image.length, 8_389_120);
    assert.ok(vpc.probe(image.subarray(0, 65536), image.subarray(-512)));
    assert.ok(!vpc.probe(image.subarray(0, 65536), undefined));
    assert.ok(disk.equals(readDisk(vpc, image)));
    const scanned = scanDisk(vpc, image);
    assert.ok(disk.equals(scanned.disk));
    assert.equal(scanned.lateBytes, 0);
    assert.ok(disk.equals(scanDisk(raw, image, undefined).disk), "and so it is in a stream");
    assertSameMap(allExtents(openImage(vpc, image), image), mapOf(image, "vpc"), false);
  });

  it("H03: has the size that its footer says, rounded up by qemu-img without force_size", () => {
    const disk = baseDisk();
    const image = imageOf(disk, "vpc", ["-o", "subformat=fixed"]);
    const read = readDisk(vpc, image);
    assert.equal(read.length, 8_390_656);
    assert.ok(disk.equals(read.subarray(0, disk.length)));
  });
});

describe("a fixed VHD", () => {
  const disk = baseDisk(MIB);

  it("is as large as what lies before its footer, whoever made it", () => {
    for (const creator of ["vpc ", "win ", "vbox"]) {
      const image = Buffer.concat([disk, buildFooter({ type: 2, currentSize: MIB, creator, geometry: [10, 4, 17] })]);
      assert.ok(disk.equals(readDisk(vpc, image)), creator);
    }
  });

  it("is refused where the footer speaks of another size", () => {
    for (const currentSize of [MIB - 512, MIB + 512, 0]) {
      const image = Buffer.concat([disk, buildFooter({ type: 2, currentSize })]);
      assert.throws(() => openImage(vpc, image), { code: "FORMAT_INVALID", remedy: /raw/ });
    }
  });

  it("shows a creator's name without what cannot be printed", () => {
    const image = Buffer.concat([disk, buildFooter({ type: 2, currentSize: MIB, creator: "\u0001a\0\0" })]);
    assert.deepEqual(openImage(vpc, image).features, ["fixed", "creator ?a"]);
  });
});
