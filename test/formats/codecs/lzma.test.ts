import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { lzma } from "../../../formats/codecs/lzma.ts";
import { assertCode, CHOICES, decodeAll, samplePlain } from "../../suites/codec.ts";
import { compressWith } from "../../support/compress.ts";
import { requireTools } from "../../support/tools.ts";

describe("lzma", { skip: requireTools("xz") }, () => {
  it("is recognised at every preset and refused with what to do", async () => {
    for (const preset of ["-0", "-1", "-6", "-9"]) {
      const file = compressWith("xz", "--format=lzma", preset)(samplePlain(5000));
      assert.ok(lzma.probe(file), preset);
      for (const decoders of CHOICES) {
        await assertCode(decodeAll(lzma, file, decoders), "FORMAT_UNSUPPORTED", /xz --format=lzma -d/);
      }
    }
    assert.ok(lzma.probe(Buffer.from("5d00008000001000000000000000", "hex")), "with a size of 1 MiB in the header");
  });

  it("is not seen in a disk that begins with the same byte", () => {
    for (const [what, head] of [
      ["too short", "5d0000800000100000000000 00"],
      ["another dictionary", "5d 34128000 0010000000000000 00"],
      ["no dictionary", "5d 00000000 0010000000000000 00"],
      ["a size of 1 TiB", "5d 00008000 0000000000010000 00"],
      ["half of an unknown size", "5d 00008000 00000000ffffffff 00"],
      ["no range coder", "5d 00008000 0010000000000000 01"],
      ["other properties", "5e 00008000 0010000000000000 00"],
    ] as const) {
      assert.ok(!lzma.probe(Buffer.from(head.replaceAll(" ", ""), "hex")), what);
    }
    assert.ok(!lzma.probe(Uint8Array.from({ length: 512 }, (_, i) => (i === 0 ? 0x5d : 0))), "zeros behind it");
  });
});
