import assert from "node:assert/strict";
import { it } from "node:test";
import { DecodingStream } from "../../../formats/codecs/decoding-stream.ts";
import { PortableXz } from "../../../formats/codecs/portable-xz.ts";
import { CountedInput, readAll, samplePlain } from "../../suites/codec.ts";
import { compressWith } from "../../support/compress.ts";
import { requireTools } from "../../support/tools.ts";

it(
  "portable xz streams do not wait for each other, and may be left half read",
  { skip: requireTools("xz") },
  async () => {
    const plain = samplePlain(300_000);
    const file = compressWith("xz", "-0")(plain);
    const open = (): DecodingStream => new DecodingStream(new CountedInput(file), new PortableXz(64 * 1024 * 1024));
    const left = open();
    assert.ok((await left.read(new Uint8Array(100))) > 0);
    const closed = open();
    await closed.close();
    const all = await Promise.all([readAll(open()), readAll(open(), 999), readAll(open())]);
    for (const got of all) assert.ok(got.equals(plain));
    await left.close();
  },
);
