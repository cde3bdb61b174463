import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { raw } from "../../formats/raw.ts";
import { FOOTER_LENGTH, vhdChecksum } from "../../formats/vpc/footer.ts";
import { allExtents, openImage, readDisk, scanDisk } from "../support/parse.ts";

const MIB = 1024 * 1024;

function patterned(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => (i * 7 + (i >> 9)) & 0xff);
}

describe("raw", () => {
  for (const length of [1, 511, 512, 513, MIB - 1, MIB, MIB + 1, MIB + 511, MIB + 512, 2 * MIB, 2 * MIB + 700]) {
    it(`reads ${length} bytes, padded to a sector, at random and in one pass`, () => {
      const file = patterned(length);
      const expected = new Uint8Array(Math.ceil(length / 512) * 512);
      expected.set(file);
      assert.deepEqual(readDisk(raw, file, 700_000), expected);
      assert.deepEqual(scanDisk(raw, file, undefined).disk, expected);
    });
  }

  it("shows the padding as zeros", () => {
    const file = patterned(700);
    assert.deepEqual(
      allExtents(openImage(raw, file), file).map((e) => [e.kind, e.offset, e.length]),
      [
        ["data", 0, 700],
        ["zero", 700, 324],
      ],
    );
  });

  for (const length of [512, MIB - 512, MIB, MIB + 512, 3 * MIB]) {
    it(`drops the footer of a fixed VHD of ${length} bytes at the end of a stream`, () => {
      const disk = patterned(length);
      const file = new Uint8Array(length + FOOTER_LENGTH);
      file.set(disk);
      file.set(fixedFooter(length), length);
      assert.deepEqual(scanDisk(raw, file, undefined).disk, disk);
    });
  }

  it("keeps last bytes that only look like a footer", () => {
    const length = 2 * MIB;
    for (const spoil of ["size", "checksum", "type"]) {
      const footer = fixedFooter(spoil === "size" ? length + 512 : length);
      if (spoil === "checksum") footer[100] = 1;
      if (spoil === "type") footer[63] = 3;
      const file = patterned(length + FOOTER_LENGTH);
      file.set(footer, length);
      assert.deepEqual(scanDisk(raw, file, undefined).disk, file);
    }
  });
});

function fixedFooter(size: number): Uint8Array {
  const footer = new Uint8Array(FOOTER_LENGTH);
  footer.set(new TextEncoder().encode("conectix"));
  const view = new DataView(footer.buffer);
  view.setBigUint64(48, BigInt(size));
  view.setUint32(60, 2);
  view.setUint32(64, vhdChecksum(footer, 64));
  return footer;
}
