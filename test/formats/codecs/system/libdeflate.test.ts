import assert from "node:assert/strict";
import { it } from "node:test";
import zlib from "node:zlib";
import { openLibdeflate } from "../../../../formats/codecs/system/libdeflate.ts";
import { samplePlain } from "../../../suites/codec.ts";
import { requireLibraries } from "../../../support/tools.ts";

const libdeflate = openLibdeflate();

it("libdeflate fills the output or says no", { skip: requireLibraries("libdeflate0") }, () => {
  assert.ok(libdeflate !== undefined);
  const plain = samplePlain(5000);
  const raw = zlib.deflateRawSync(plain);
  const wrapped = zlib.deflateSync(plain);
  const output = new Uint8Array(5000);
  assert.equal(libdeflate.inflateRaw(raw, output), true);
  assert.ok(Buffer.from(output).equals(Buffer.from(plain)));
  assert.equal(libdeflate.inflateRaw(raw, new Uint8Array(4999)), false);
  assert.equal(libdeflate.inflateRaw(raw, new Uint8Array(5001)), false);
  assert.equal(libdeflate.inflateZlib(wrapped, new Uint8Array(6000)), 5000);
  assert.equal(libdeflate.inflateZlib(wrapped, new Uint8Array(4999)), undefined);
  assert.equal(libdeflate.inflateZlib(wrapped.subarray(0, -1), output), undefined);
  libdeflate.close();
  libdeflate.close();
  assert.throws(() => libdeflate.inflateRaw(raw, output), /freed/);
});
