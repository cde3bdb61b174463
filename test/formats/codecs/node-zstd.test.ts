import assert from "node:assert/strict";
import { it } from "node:test";
import zlib from "node:zlib";
import { InputWindow } from "../../../formats/codecs/input-window.ts";
import { NodeZstd } from "../../../formats/codecs/node-zstd.ts";
import { readFrameHeader } from "../../../formats/codecs/zstd-frame.ts";
import type { ZstdFrame } from "../../../formats/codecs/zstd-frame.ts";
import { CountedInput, samplePlain } from "../../suites/codec.ts";

it("NodeZstd consumes one frame exactly, whatever follows it", async () => {
  const plain = samplePlain(10_000);
  const frame = zlib.zstdCompressSync(plain);
  const window = new InputWindow(new CountedInput(Buffer.concat([frame, frame.subarray(0, 9)])));
  await window.refill();
  const decoder = new NodeZstd();
  decoder.begin(readFrameHeader(window.bytes()) as ZstdFrame);
  const into = new Uint8Array(20_000);
  let filled = 0;
  while (!decoder.done) filled += await decoder.run(window, into.subarray(filled));
  assert.equal(window.length, 9);
  assert.ok(Buffer.from(into.subarray(0, filled)).equals(Buffer.from(plain)));
  decoder.close();
  decoder.close();
});
