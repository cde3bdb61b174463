import assert from "node:assert/strict";
import { describe, it } from "node:test";
import zlib from "node:zlib";
import {
  FrameWalker,
  isZstdMagic,
  MAX_FRAME_HEADER_LENGTH,
  readFrameHeader,
} from "../../../formats/codecs/zstd-frame.ts";
import type { ZstdFrame } from "../../../formats/codecs/zstd-frame.ts";
import { samplePlain } from "../../suites/codec.ts";

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(" ", ""), "hex");

describe("zstd frame header", () => {
  // RFC 8878, 3.1.1.1: descriptor, window, dictionary id, content size.
  for (const [what, bytes, expected] of [
    ["window of 1 KiB", "28b52ffd 00 00", { headerLength: 6, windowLength: 1024, contentSize: undefined }],
    [
      "window with mantissa",
      "28b52ffd 00 5b",
      { headerLength: 6, windowLength: 2 ** 21 * 1.375, contentSize: undefined },
    ],
    ["largest window", "28b52ffd 00 ff", { headerLength: 6, windowLength: 2 ** 41 * 1.875, contentSize: undefined }],
    ["one byte of size", "28b52ffd 20 07", { headerLength: 6, windowLength: 7, contentSize: 7 }],
    ["two bytes of size", "28b52ffd 60 0001", { headerLength: 7, windowLength: 512, contentSize: 512 }],
    [
      "four bytes of size",
      "28b52ffd 80 00 04030201",
      { headerLength: 10, windowLength: 1024, contentSize: 0x01020304 },
    ],
    ["eight bytes", "28b52ffd e0 0000000001000000", { headerLength: 13, windowLength: 2 ** 32, contentSize: 2 ** 32 }],
    ["a dictionary id of zero", "28b52ffd 23 00000000 09", { headerLength: 10, windowLength: 9, contentSize: 9 }],
  ] as const) {
    it(`is read: ${what}`, () => {
      const header = hex(bytes);
      assert.deepEqual(readFrameHeader(header), { kind: "frame", hasChecksum: false, ...expected });
      for (let length = 0; length < header.length; length++) {
        assert.equal(readFrameHeader(header.subarray(0, length)), undefined);
      }
      assert.ok(header.length <= MAX_FRAME_HEADER_LENGTH);
    });
  }

  it("knows skippable frames, all sixteen of them", () => {
    for (let i = 0; i < 16; i++) {
      const frame = hex(`5${i.toString(16)}2a4d18 ffffffff`);
      assert.ok(isZstdMagic(frame));
      assert.deepEqual(readFrameHeader(frame), { kind: "skippable", length: 8 + 0xffff_ffff });
    }
    assert.ok(!isZstdMagic(hex("602a4d18 00000000")));
  });

  it("refuses what is no frame, reserved bits, dictionaries and sizes above 2^53", () => {
    for (const [bytes, code] of [
      ["28b52ffe 00 00", "FORMAT_CORRUPT"],
      ["04224d18 00 00", "FORMAT_UNSUPPORTED"],
      ["28b52ffd 08 00", "FORMAT_UNSUPPORTED"],
      ["28b52ffd 21 01 00", "FORMAT_UNSUPPORTED"],
      ["28b52ffd 22 0100 00", "FORMAT_UNSUPPORTED"],
      ["28b52ffd e0 ffffffffffffffff", "FORMAT_OUT_OF_BOUNDS"],
    ] as const) {
      assert.throws(() => readFrameHeader(hex(bytes)), { code }, bytes);
    }
  });
});

describe("FrameWalker", () => {
  const frames = [0, 1, 1000, 131_072, 131_073, 700_000].flatMap((length) =>
    [0, 1].map((checksum) =>
      zlib.zstdCompressSync(samplePlain(length), { params: { [zlib.constants.ZSTD_c_checksumFlag]: checksum } }),
    ),
  );

  it("finds the end of a frame, in pieces of any size", () => {
    for (const frame of frames) {
      const header = readFrameHeader(frame) as ZstdFrame;
      for (const step of [1, 2, 3, 1000, frame.length + 5]) {
        if (step === 1 && frame.length > 50_000) continue;
        const file = Buffer.concat([frame, Buffer.from("more")]);
        const walker = new FrameWalker(header);
        let at = 0;
        while (!walker.done && at < file.length) {
          const walked = walker.walk(file.subarray(at, at + step));
          assert.ok(walked > 0);
          at += walked;
        }
        assert.equal(at, frame.length);
        assert.equal(walker.walk(file.subarray(at)), 0);
      }
    }
  });

  it("is not done before the end", () => {
    const frame = frames[5] as Buffer;
    const header = readFrameHeader(frame) as ZstdFrame;
    for (let length = 0; length < Math.min(frame.length, 500); length++) {
      const walker = new FrameWalker(header);
      assert.equal(walker.walk(frame.subarray(0, length)), length);
      assert.ok(!walker.done);
    }
  });

  it("refuses blocks of the reserved type and blocks that are too long", () => {
    const header = readFrameHeader(hex("28b52ffd 00 58")) as ZstdFrame;
    for (const block of ["07 00 00", "01 00 20"]) {
      const bytes = hex(`28b52ffd 00 58 ${block}`);
      const at = Number.parseInt(block.slice(0, 2), 16);
      bytes[6] = at;
      if (block === "01 00 20") bytes.writeUIntLE((128 * 1024 + 1) * 8, 6, 3);
      assert.throws(() => new FrameWalker(header).walk(bytes), { code: "FORMAT_CORRUPT" });
    }
  });
});
