import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  alignDown,
  alignUp,
  ascii,
  hasMagic,
  hex,
  isAligned,
  isPowerOfTwo,
  u64be,
  u64le,
  viewOf,
} from "../../formats/bytes.ts";
import { FormatError } from "../../formats/errors.ts";

describe("64-bit fields", () => {
  it("are read exactly up to 2^53 - 1, in both orders", () => {
    const value = fc.oneof(fc.maxSafeNat(), fc.constantFrom(0, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1));
    fc.assert(
      fc.property(value, fc.nat(7), (number, at) => {
        const bytes = Buffer.alloc(16, 0xff);
        bytes.writeBigUInt64LE(BigInt(number), at);
        assert.equal(u64le(viewOf(bytes), at, "size"), number);
        bytes.writeBigUInt64BE(BigInt(number), at);
        assert.equal(u64be(viewOf(bytes), at, "size"), number);
      }),
    );
  });

  it("are refused above it, not rounded, and named with their value", () => {
    for (const value of [2n ** 53n, 2n ** 63n, 2n ** 64n - 1n]) {
      const bytes = Buffer.alloc(8);
      const isRefused = (error: unknown): boolean =>
        error instanceof FormatError &&
        error.code === "FORMAT_OUT_OF_BOUNDS" &&
        error.message.startsWith(`the size is 0x${value.toString(16)},`);
      bytes.writeBigUInt64LE(value);
      assert.throws(() => u64le(viewOf(bytes), 0, "the size"), isRefused);
      bytes.writeBigUInt64BE(value);
      assert.throws(() => u64be(viewOf(bytes), 0, "the size"), isRefused);
    }
  });
});

describe("alignment", () => {
  it("finds the multiples around a value, beyond 32 bits too", () => {
    const unit = fc.constantFrom(1, 512, 4096, 65_536, 2 ** 21, 1000);
    fc.assert(
      fc.property(fc.nat(2 ** 45), unit, (value, size) => {
        const [down, up] = [alignDown(value, size), alignUp(value, size)];
        assert.ok(down <= value && value <= up && up - down <= size);
        assert.ok(isAligned(down, size) && isAligned(up, size));
        assert.equal(isAligned(value, size), down === up);
      }),
    );
  });

  it("knows powers of two up to 2^31", () => {
    for (let bits = 0; bits < 32; bits++) assert.ok(isPowerOfTwo(2 ** bits), `2^${bits}`);
    for (const value of [0, -1, -2, 3, 6, 2 ** 31 - 1, 2 ** 32, 0.5, NaN, Infinity])
      assert.ok(!isPowerOfTwo(value), `${value}`);
  });
});

describe("text in bytes", () => {
  const bytes = Buffer.from("..KDMV\xff", "latin1");

  it("is compared where it stands, and not past the end", () => {
    assert.ok(hasMagic(bytes, "KDMV", 2));
    assert.ok(!hasMagic(bytes, "KDMV"));
    assert.ok(!hasMagic(bytes, "V\xff.", 5));
    assert.ok(!hasMagic(new Uint8Array(0), "K"));
  });

  it("is shown one character a byte", () => {
    assert.equal(ascii(bytes, 2, 6), "KDMV");
    assert.equal(ascii(bytes).length, 7);
    assert.equal(hex(2 ** 40 + 10), "0x1000000000a");
  });

  it("may lie inside a larger buffer", () => {
    const view = viewOf(new Uint8Array(Uint8Array.of(9, 9, 1, 2, 9).buffer, 2, 2));
    assert.deepEqual([view.byteLength, view.getUint16(0)], [2, 0x0102]);
  });
});
