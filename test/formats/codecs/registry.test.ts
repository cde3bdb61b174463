import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { codecs, detectCodec } from "../../../formats/codecs/registry.ts";
import { samplePlain } from "../../suites/codec.ts";
import { compressWith } from "../../support/compress.ts";
import { requireTools } from "../../support/tools.ts";

const skip = requireTools("bzip2", "gzip", "xz", "zstd");

describe("codec registry", () => {
  it("tells every codec by the first bytes of what its tool writes", { skip }, () => {
    for (const [name, ...command] of [
      ["gzip", "gzip"],
      ["zstd", "zstd", "-q"],
      ["xz", "xz", "-0"],
      ["bzip2", "bzip2"],
      ["lzma", "xz", "--format=lzma", "-0"],
    ] as const) {
      for (const length of [0, 4, 100_000]) {
        const file = compressWith(...command)(samplePlain(length));
        assert.deepEqual(
          codecs.filter((codec) => codec.probe(file)).map((codec) => codec.name),
          [name],
        );
        assert.equal(detectCodec(file.subarray(0, 65_536))?.name, name);
      }
    }
  });

  it("takes nothing else for compressed", () => {
    for (const head of [new Uint8Array(0), Uint8Array.of(0x5d), new Uint8Array(65_536), samplePlain(65_536)]) {
      assert.equal(detectCodec(head), undefined);
    }
  });
});
