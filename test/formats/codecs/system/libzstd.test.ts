import assert from "node:assert/strict";
import { it } from "node:test";
import zlib from "node:zlib";
import { openLibzstd } from "../../../../formats/codecs/system/libzstd.ts";
import { samplePlain } from "../../../suites/codec.ts";
import { requireLibraries } from "../../../support/tools.ts";

const libzstd = openLibzstd();

it("libzstd decodes one frame or says no", { skip: requireLibraries("libzstd1") }, () => {
  const context = libzstd?.blockContext();
  assert.ok(context !== undefined);
  const plain = samplePlain(5000);
  const frame = zlib.zstdCompressSync(plain);
  const output = new Uint8Array(6000);
  assert.equal(context.decode(frame, output), 5000);
  assert.ok(Buffer.from(output.subarray(0, 5000)).equals(Buffer.from(plain)));
  assert.equal(context.decode(frame, new Uint8Array(4999)), undefined);
  assert.equal(context.decode(frame.subarray(0, -1), output), undefined);
  assert.equal(context.decode(frame, output), 5000, "after a failure");
  context.close();
  context.close();
  assert.throws(() => context.decode(frame, output), /freed/);
});
