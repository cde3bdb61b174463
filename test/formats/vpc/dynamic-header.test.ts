import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { FormatError } from "../../../formats/errors.ts";
import { decodeDynamicHeader } from "../../../formats/vpc/dynamic-header.ts";
import { buildDynamicVhd, HEADER_AT, sealed } from "../../support/build-vhd.ts";

const image = buildDynamicVhd({ currentSize: 8192, blockSize: 4096, table: [undefined, undefined], blocks: [] });

function header(change?: (header: Buffer) => void): Buffer {
  const bytes = Buffer.from(image.subarray(HEADER_AT, HEADER_AT + 1024));
  change?.(bytes);
  return sealed(bytes, 36);
}

describe("the dynamic header of a VHD", () => {
  it("says where the table is and how large a block is", () => {
    assert.deepEqual(decodeDynamicHeader(header()), { tableOffset: 1536, maxTableEntries: 2, blockSize: 4096 });
  });

  it("is refused with a wrong checksum", () => {
    const bytes = header();
    bytes[40] = 1;
    assert.throws(() => decodeDynamicHeader(bytes), { code: "FORMAT_CORRUPT" });
  });

  for (const [name, at, value, code, text] of [
    ["another cookie", 0, 0x63787370, "FORMAT_INVALID", /cxsparse/],
    ["version 2", 24, 0x00020000, "FORMAT_UNSUPPORTED", /version 2/],
    ["a table in the footer", 20, 100, "FORMAT_INVALID", /table offset 0x64/],
    ["a table offset above 2^53", 16, 0x7fffffff, "FORMAT_OUT_OF_BOUNDS", /table offset/],
    ["too many entries", 28, 0x20000000, "FORMAT_OUT_OF_BOUNDS", /536870912 entries/],
    ["a block of 3 MiB", 32, 0x300000, "FORMAT_OUT_OF_BOUNDS", /3145728/],
    ["a block of 256 bytes", 32, 256, "FORMAT_OUT_OF_BOUNDS", /256/],
    ["a block of 2 GiB", 32, 0x80000000, "FORMAT_OUT_OF_BOUNDS", /2147483648/],
  ] as const) {
    it(`is refused with ${name}`, () => {
      const bytes = header((changed) => {
        changed.writeUInt32BE(value, at);
        if (at === 0) changed.write("x", 7, "latin1");
      });
      assert.throws(
        () => decodeDynamicHeader(bytes),
        (error: FormatError) => error.code === code && text.test(error.message),
      );
    });
  }
});
