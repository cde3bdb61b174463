import assert from "node:assert/strict";
import { describe, it } from "node:test";
import zlib from "node:zlib";
import { InputWindow } from "../../../../formats/codecs/input-window.ts";
import { openIsalInflater } from "../../../../formats/codecs/system/isal.ts";
import { CountedInput, samplePlain } from "../../../suites/codec.ts";
import { requireLibraries } from "../../../support/tools.ts";

const inflater = openIsalInflater();

describe("ISA-L", { skip: requireLibraries("libisal2") }, () => {
  it("consumes a deflate stream to its last byte, wherever the input is cut, and reckons its CRC-32", () => {
    assert.ok(inflater !== undefined);
    const plain = samplePlain(12_000, 9);
    const into = new Uint8Array(new SharedArrayBuffer(16_000));
    for (const level of [0, 1, 9]) {
      const packed = zlib.deflateRawSync(plain, { level });
      // The library reads ahead by up to eight bytes: what it took of the trailer must come back, across a refill too.
      for (let step = 1; step <= packed.length + 12; step += step < 40 ? 1 : 37) {
        const window = new InputWindow(new CountedInput(Buffer.concat([packed, Buffer.alloc(12, 0x55)]), step));
        inflater.begin();
        let filled = 0;
        while (!inflater.done) {
          const count = inflater.run(window, into.subarray(filled)) as number;
          filled += count;
          if (count === 0 && !inflater.done) assert.ok((window.refill() as number) > 0);
        }
        while ((window.refill() as number) > 0);
        assert.equal(window.length, 12, `level ${level}, in pieces of ${step}`);
        assert.ok(window.bytes().every((byte) => byte === 0x55));
        assert.ok(Buffer.from(into.slice(0, filled)).equals(Buffer.from(plain)));
        assert.equal(inflater.crc, zlib.crc32(plain));
      }
    }
  });

  it("refuses data that does not decode", () => {
    assert.ok(inflater !== undefined);
    const window = new InputWindow(new CountedInput(Buffer.alloc(100, 0xff)));
    void window.refill();
    inflater.begin();
    assert.throws(() => inflater.run(window, new Uint8Array(100)), { code: "FORMAT_CORRUPT" });
  });
});
