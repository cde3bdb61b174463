import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { XzWalker } from "../../../formats/codecs/xz-walker.ts";
import type { XzBlock } from "../../../formats/codecs/xz-walker.ts";
import { samplePlain } from "../../suites/codec.ts";
import { compressWith } from "../../support/compress.ts";
import { requireTools } from "../../support/tools.ts";

const plain = samplePlain(150_000);

function walk(file: Uint8Array, step = file.length): { blocks: XzBlock[]; mayEnd: boolean } {
  const blocks: XzBlock[] = [];
  const walker = new XzWalker((block) => blocks.push(block));
  for (let at = 0; at < file.length; at += step) walker.walk(file.subarray(at, at + step));
  return { blocks, mayEnd: walker.mayEnd };
}

describe("XzWalker", { skip: requireTools("xz") }, () => {
  const lzma2 = { filterIds: [0x21], dictionaryLength: 256 * 1024 };
  for (const [args, expected] of [
    [["-0", "--check=none"], [{ checkId: 0, ...lzma2 }]],
    [["-0", "--check=crc32"], [{ checkId: 1, ...lzma2 }]],
    [["-0", "--check=crc64"], [{ checkId: 4, ...lzma2 }]],
    [["-0", "--check=sha256"], [{ checkId: 10, ...lzma2 }]],
    [
      ["--x86", "--delta", "--lzma2=preset=0,dict=96MiB"],
      [{ checkId: 4, filterIds: [4, 3, 0x21], dictionaryLength: 96 * 2 ** 20 }],
    ],
    [["--lzma2=preset=0,dict=1536MiB"], [{ checkId: 4, filterIds: [0x21], dictionaryLength: 1536 * 2 ** 20 }]],
    [
      ["-0", "-T2", "--block-size=64KiB"],
      [
        { checkId: 4, ...lzma2 },
        { checkId: 4, ...lzma2 },
        { checkId: 4, ...lzma2 },
      ],
    ],
  ] as const) {
    it(`reads the blocks of xz ${args.join(" ")}`, () => {
      const file = compressWith("xz", ...args)(plain);
      for (const step of [file.length, 1001, 1]) {
        assert.deepEqual(walk(file, step), { blocks: [...expected], mayEnd: true });
      }
      for (const length of [0, 4, 11, 12, 13, 500, file.length - 28, file.length - 12, file.length - 1]) {
        assert.equal(walk(file.subarray(0, length)).mayEnd, false, `${length} of ${file.length}`);
      }
    });
  }

  it("goes on behind padding, and over a stream without blocks", () => {
    const stream = compressWith("xz", "-0")(plain);
    const empty = compressWith("xz")(new Uint8Array(0));
    const file = Buffer.concat([stream, new Uint8Array(12), empty, stream, new Uint8Array(4)]);
    assert.deepEqual([walk(file).blocks.length, walk(file).mayEnd], [2, true]);
    assert.equal(walk(Buffer.concat([stream, new Uint8Array(2)])).mayEnd, true, "the decoder refuses it");
  });

  it("refuses a damaged block header before it is believed", () => {
    const file = compressWith("xz", "-0")(plain);
    for (let at = 13; at < 24; at++) {
      const damaged = Buffer.from(file);
      damaged[at] = (damaged[at] ?? 0) ^ 1;
      assert.throws(() => walk(damaged), { code: "FORMAT_CORRUPT" });
    }
  });

  it("stops where the caller refuses a block", () => {
    const walker = new XzWalker(() => {
      throw new RangeError("too much");
    });
    assert.throws(() => walker.walk(compressWith("xz", "-0")(plain)), /too much/);
  });
});
