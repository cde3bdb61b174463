import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Slab, SLOT_LENGTH } from "../../../importer/engine/slab.ts";

describe("Slab", () => {
  it("lends each slot once until it is given back, neighbours first", () => {
    const slab = new Slab(3);
    assert.deepEqual([slab.take(), slab.take()], [0, 1]);
    assert.equal(slab.hasFree, true);
    assert.equal(slab.take(), 2);
    assert.equal(slab.hasFree, false);
    assert.equal(slab.take(), undefined);
    slab.release(1);
    assert.equal(slab.take(), 1);
    assert.equal(slab.take(), undefined);
  });

  it("shows slots that do not overlap, in memory that threads share", () => {
    const slab = new Slab(3);
    for (const slot of [0, 1, 2]) slab.view(slot).fill(slot + 1);
    const memory = new Uint8Array(slab.memory);
    for (const slot of [0, 1, 2]) {
      assert.equal(slab.view(slot).length, SLOT_LENGTH);
      assert.equal(memory[slab.positionOf(slot)], slot + 1);
      assert.equal(memory[slab.positionOf(slot) + SLOT_LENGTH - 1], slot + 1);
    }
  });
});
