import assert from "node:assert/strict";
import { it } from "node:test";
import { crc32 } from "node:zlib";
import { DecodingStream } from "../../../../formats/codecs/decoding-stream.ts";
import { openLiblzma } from "../../../../formats/codecs/system/liblzma.ts";
import { assertCode, CountedInput, readAll, samplePlain } from "../../../suites/codec.ts";
import { compressWith } from "../../../support/compress.ts";
import { requireTools } from "../../../support/tools.ts";

const liblzma = openLiblzma();
const skip = liblzma === undefined ? "needs liblzma5 and koffi" : requireTools("xz");

it("liblzma names a filter and a check that it does not know", { skip }, async () => {
  assert.ok(liblzma !== undefined);
  const file = compressWith("xz", "-0", "--check=crc32")(samplePlain(1000));
  const decode = (bytes: Uint8Array): Promise<Buffer> =>
    readAll(new DecodingStream(new CountedInput(bytes), liblzma.streamDecoder(64 * 1024 * 1024)));
  const check = Buffer.from(file);
  check[7] = 2;
  check.set(crc(check.subarray(6, 8)), 8);
  await assertCode(decode(check), "FORMAT_UNSUPPORTED", /check number 2/);
  const filter = Buffer.from(file);
  filter[14] = 0x22;
  filter.set(crc(filter.subarray(12, 20)), 20);
  await assertCode(decode(filter), "FORMAT_UNSUPPORTED", /filter/);
});

it("liblzma's state may be freed at any time", { skip }, async () => {
  assert.ok(liblzma !== undefined);
  const file = compressWith("xz", "-0", "-T2", "--block-size=100KiB")(samplePlain(900_000));
  for (const bytes of [0, 1, 500_000]) {
    const stream = new DecodingStream(new CountedInput(file), liblzma.streamDecoder(64 * 1024 * 1024));
    const into = new Uint8Array(Math.max(1, bytes));
    for (let filled = 0; filled < bytes;) filled += await stream.read(into.subarray(filled));
    await stream.close();
    await stream.close();
    assert.throws(() => stream.read(into), /closed/);
  }
});

function crc(bytes: Uint8Array): Buffer {
  const sum = Buffer.alloc(4);
  sum.writeUInt32LE(crc32(bytes));
  return sum;
}
