import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { crc32 } from "node:zlib";
import { checkGzipTrailer, gzipHeaderLength, isGzipMagic } from "../../../formats/codecs/gzip-header.ts";

const FIXED = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];

function header(flags: number, ...rest: (Uint8Array | string)[]): Buffer {
  const fixed = Buffer.from(FIXED);
  fixed[3] = flags;
  return Buffer.concat([fixed, ...rest.map((part) => Buffer.from(part as string))]);
}

describe("gzip header", () => {
  it("ends where its fields end, and not before", () => {
    const extra = Buffer.from([5, 0, 1, 2, 3, 4, 5]);
    for (const whole of [
      header(0),
      header(4, extra),
      header(8, "name\0"),
      header(16, "comment\0"),
      header(4 | 8 | 16 | 1, extra, "\0", "c\0"),
      header(8, Buffer.alloc(100_000, "n"), "\0"),
    ]) {
      assert.equal(gzipHeaderLength(Buffer.concat([whole, Buffer.from("body")])), whole.length);
      assert.equal(gzipHeaderLength(whole), whole.length);
      for (let length = 0; length < Math.min(whole.length, 300); length++) {
        assert.equal(gzipHeaderLength(whole.subarray(0, length)), undefined);
      }
    }
  });

  it("is checked against its own checksum", () => {
    const fields = header(2 | 8, "name\0");
    const sum = Buffer.alloc(2);
    sum.writeUInt16LE(crc32(fields) & 0xffff);
    assert.equal(gzipHeaderLength(Buffer.concat([fields, sum])), fields.length + 2);
    sum[1] = (sum[1] ?? 0) ^ 0x80;
    assert.throws(() => gzipHeaderLength(Buffer.concat([fields, sum])), { code: "FORMAT_CORRUPT" });
  });

  it("refuses reserved flags, and a name without end", () => {
    for (const flag of [0x20, 0x40, 0x80])
      assert.throws(() => gzipHeaderLength(header(flag)), { code: "FORMAT_UNSUPPORTED" });
    const endless = header(8, Buffer.alloc(128 * 1024, "n"));
    assert.throws(() => gzipHeaderLength(endless), { code: "FORMAT_OUT_OF_BOUNDS" });
  });

  it("is known by three bytes", () => {
    assert.ok(isGzipMagic(Buffer.from(FIXED)));
    assert.ok(!isGzipMagic(Buffer.from([0x1f, 0x8b, 7])));
    assert.ok(!isGzipMagic(Buffer.from([0x1f, 0x8b])));
  });
});

describe("gzip trailer", () => {
  it("holds the length modulo 2^32", () => {
    const trailer = Buffer.from([1, 2, 3, 0x84, 5, 0, 0, 0]);
    checkGzipTrailer(trailer, 0x84030201, 5);
    checkGzipTrailer(trailer, 0x84030201, 2 ** 33 + 5);
    assert.throws(() => checkGzipTrailer(trailer, 0x84030202, 5), { code: "FORMAT_CORRUPT" });
    assert.throws(() => checkGzipTrailer(trailer, 0x84030201, 6), { code: "FORMAT_CORRUPT" });
  });
});
