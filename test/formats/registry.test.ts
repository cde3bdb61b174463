import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { HEAD_LENGTH, TAIL_LENGTH } from "../../formats/disk-format.ts";
import { detectFormat, diskFormats } from "../../formats/registry.ts";
import { sampleBytes, samples } from "../support/images.ts";

describe("detectFormat", () => {
  for (const { name, format } of samples().filter(({ wrappers }) => wrappers.length === 0)) {
    it(`knows ${name}, and leaves it to no other format`, () => {
      const bytes = sampleBytes(name);
      const [head, tail] = [bytes.subarray(0, HEAD_LENGTH), bytes.subarray(-TAIL_LENGTH)];
      assert.equal(detectFormat(head, tail).name, format);
      const claims = diskFormats.filter((candidate) => candidate.probe(head, tail)).map((candidate) => candidate.name);
      assert.deepEqual(claims, format === "raw" ? ["raw"] : [format, "raw"]);
    });
  }

  it("takes anything else for raw, however short", () => {
    for (const length of [0, 1, 3, 4, 64, 511, 512, 65_536]) {
      for (const fill of [0, 0xff, 0x51]) {
        const bytes = Buffer.alloc(length, fill);
        assert.equal(detectFormat(bytes, bytes.subarray(-TAIL_LENGTH)).name, "raw");
        assert.equal(detectFormat(bytes, undefined).name, "raw");
      }
    }
  });

  it("has qemu-img's names, once each, raw last", () => {
    const names = diskFormats.map((format) => format.name);
    assert.deepEqual(names.toSorted(), ["qcow2", "raw", "vdi", "vhdx", "vmdk", "vpc"]);
    assert.equal(names.at(-1), "raw");
  });
});
