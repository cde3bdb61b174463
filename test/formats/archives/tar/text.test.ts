import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { decodeText, encodeText } from "../../../../formats/archives/tar/text.ts";

describe("names of tar", () => {
  it("are UTF-8 where they are", () => {
    for (const text of ["", "disk.img", "größe", "磁盘", "💿", "\ufffd", "\ufeffbom", "a\0b"]) {
      assert.equal(decodeText(Buffer.from(text)), text);
      assert.deepEqual(Buffer.from(encodeText(text)), Buffer.from(text));
    }
  });

  it("keep bytes that are not", () => {
    assert.equal(decodeText(Buffer.of(0x67, 0x72, 0xf6, 0xdf, 0x65)), "gr\udcf6\udcdfe");
    // Overlong, a surrogate, beyond U+10FFFF, cut short.
    for (const bytes of [
      [0xc0, 0xaf],
      [0xe0, 0x80, 0xaf],
      [0xed, 0xb2, 0x80],
      [0xf4, 0x90, 0x80, 0x80],
      [0xe4, 0xb8],
    ]) {
      assert.equal(decodeText(Uint8Array.from(bytes)), String.fromCharCode(...bytes.map((byte) => 0xdc00 + byte)));
    }
  });

  it("come back as the same bytes, whatever they are", () => {
    const byte = fc.oneof(fc.integer({ min: 0, max: 255 }), fc.constantFrom(0xe0, 0xed, 0xf0, 0xf4, 0x80, 0xbf, 0x61));
    fc.assert(
      fc.property(fc.array(byte, { maxLength: 40 }), (bytes) => {
        const name = Buffer.from(bytes);
        assert.deepEqual(Buffer.from(encodeText(decodeText(name))), name);
      }),
    );
  });
});
