import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decodeFooter, diskSize, isFixedVhdFooter, isIntactFooter } from "../../../formats/vpc/footer.ts";
import { vpc } from "../../../formats/vpc/vpc.ts";
import { buildDynamicVhd, buildFooter, sealed } from "../../support/build-vhd.ts";
import { openImage } from "../../support/parse.ts";
import { virtualSizeOf } from "../../support/qemu-images.ts";
import { requireTools } from "../../support/tools.ts";

const MIB = 1024 * 1024;
const SIZE = 8 * MIB;
const SMALLER = [100, 10, 10] as const; // 5,120,000 bytes
const LARGER = [241, 4, 17] as const; // 8,390,656 bytes
const LARGEST = [65535, 16, 255] as const; // what a disk that is larger says

describe("the footer of a VHD", () => {
  it("is intact only with cookie and checksum", () => {
    const footer = buildFooter({ type: 2, currentSize: SIZE });
    assert.ok(isIntactFooter(footer));
    assert.ok(!isIntactFooter(footer.subarray(1)));
    for (const at of [0, 7, 50, 66, 511]) {
      const damaged = Buffer.from(footer);
      damaged[at] = (damaged[at] ?? 0) ^ 1;
      assert.ok(!isIntactFooter(damaged), `damaged at ${at}`);
    }
  });

  it("is that of a fixed disk only with type and size", () => {
    assert.ok(isFixedVhdFooter(buildFooter({ type: 2, currentSize: SIZE }), SIZE));
    assert.ok(!isFixedVhdFooter(buildFooter({ type: 2, currentSize: SIZE }), SIZE + 512));
    assert.ok(!isFixedVhdFooter(buildFooter({ type: 3, currentSize: SIZE }), SIZE));
  });

  it("refuses a size above 2^53", () => {
    const footer = buildFooter({ type: 3, currentSize: SIZE });
    footer.writeUInt32BE(0x200000, 48);
    assert.throws(() => decodeFooter(sealed(footer, 64)), { code: "FORMAT_OUT_OF_BOUNDS" });
  });
});

describe("the size of a dynamic VHD", () => {
  const sizeOf = (creator: string, geometry: readonly [number, number, number], covered = 10 * MIB): number =>
    diskSize(decodeFooter(buildFooter({ type: 3, currentSize: SIZE, creator, geometry })), covered);

  for (const creator of ["vpc ", "vs  ", "qemu"]) {
    it(`is the geometry's for ${creator}`, () => {
      assert.equal(sizeOf(creator, SMALLER), 5_120_000);
      assert.equal(sizeOf(creator, LARGER), 8_390_656);
      assert.equal(sizeOf(creator, LARGER, SIZE), SIZE, "a geometry beyond the table is passed over");
      assert.equal(sizeOf(creator, LARGEST, 2 ** 42), SIZE);
      assert.equal(sizeOf(creator, [0, 0, 0]), SIZE);
    });
  }
  for (const creator of ["win ", "d2v ", "qem2", "tap\0", "wa\0\0"]) {
    it(`is the field's for ${JSON.stringify(creator)}`, () => {
      assert.equal(sizeOf(creator, SMALLER), SIZE);
      assert.equal(sizeOf(creator, LARGER), SIZE);
    });
  }
  it("is the larger of the two for others", () => {
    assert.equal(sizeOf("vbox", SMALLER), SIZE);
    assert.equal(sizeOf("vbox", LARGER), 8_390_656);
  });
});

describe("the size of a dynamic VHD, against qemu-img", { skip: requireTools("qemu-img") }, () => {
  for (const creator of ["vpc ", "vs  ", "qemu", "win ", "d2v ", "qem2", "tap\0"]) {
    it(`is the same for ${JSON.stringify(creator)}`, () => {
      for (const geometry of [SMALLER, LARGER, LARGEST]) {
        const parts = { currentSize: SIZE, creator, geometry, blockSize: 2 * MIB, table: Array(5).fill(undefined) };
        const image = buildDynamicVhd({ ...parts, blocks: [] });
        assert.equal(openImage(vpc, image).virtualSize, virtualSizeOf(image, "vpc"));
      }
    });
  }
});
