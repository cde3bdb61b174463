import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { RECIPES } from "../../bench/corpus.ts";
import { contendersFor } from "../../bench/peers.ts";

describe("contendersFor", () => {
  it("has decant and a peer for every image of the corpus", () => {
    for (const image of Object.keys(RECIPES)) {
      const contenders = contendersFor(image, () => true);
      assert.equal(contenders[0]?.name, "decant");
      assert.ok(contenders.length > 1, image);
    }
  });

  it("ends every line with its target on the disk", () => {
    for (const image of Object.keys(RECIPES)) {
      const [, ...peers] = contendersFor(image, () => true);
      for (const { line } of peers) assert.match(line, /&& sync "\$TARGET"$/);
    }
  });

  it("leaves out who is not installed", () => {
    assert.deepEqual(
      contendersFor("raw.gz", (tool) => tool === "gzip").map((contender) => contender.name),
      ["decant", "gzip -dc | dd conv=sparse"],
    );
  });
});
