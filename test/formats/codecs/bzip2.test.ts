import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bzip2 } from "../../../formats/codecs/bzip2.ts";
import { assertCode, CHOICES, decodeAll, samplePlain } from "../../suites/codec.ts";
import { compressWith } from "../../support/compress.ts";
import { requireTools } from "../../support/tools.ts";

describe("bzip2", { skip: requireTools("bzip2") }, () => {
  it("is recognised, without content too, and refused with what to do", async () => {
    for (const length of [0, 1, 10_000]) {
      const file = compressWith("bzip2", "-1")(samplePlain(length));
      assert.ok(bzip2.probe(file));
      for (const decoders of CHOICES) {
        await assertCode(decodeAll(bzip2, file, decoders), "FORMAT_UNSUPPORTED", /bzip2 -d/);
      }
    }
  });

  it("is not seen in text that begins alike", () => {
    for (const text of ["BZh", "BZh0", "BZh91AY&S", "BZh91AY&SX and more", "BZip2 is a compressor"]) {
      assert.ok(!bzip2.probe(Buffer.from(text)), text);
    }
  });
});
