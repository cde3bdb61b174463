import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { crc32c } from "../../formats/crc32c.ts";
import { baseDisk } from "../support/base-disk.ts";
import { slowCrc32c } from "../support/build-vhdx.ts";

describe("crc32c", () => {
  it("gives the check value of the published test vector", () => {
    assert.equal(crc32c(Buffer.from("123456789")), 0xe3069283);
    assert.equal(crc32c(new Uint8Array(32)), 0x8a9136aa);
    assert.equal(crc32c(new Uint8Array(0)), 0);
  });

  it("agrees with one bit at a time for every length and start, in one go and in two", () => {
    const bytes = baseDisk(4096).subarray(0, 100);
    for (let start = 0; start < 9; start++) {
      for (let length = 0; length < 40; length++) {
        const part = bytes.subarray(start, start + length);
        const expected = slowCrc32c(part);
        assert.equal(crc32c(part), expected);
        const cut = length >> 1;
        assert.equal(crc32c(part.subarray(cut), crc32c(part.subarray(0, cut))), expected);
      }
    }
  });
});
