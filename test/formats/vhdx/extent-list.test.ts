import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MAX_ANNOUNCED } from "../../../formats/disk-format.ts";
import { ExtentList } from "../../../formats/vhdx/extent-list.ts";

describe("vhdx extent list", () => {
  it("merges gaps of one kind, and plain extents that are neighbours on both sides", () => {
    const list = new ExtentList();
    list.addGap("hole", 0, 10);
    list.addGap("hole", 10, 5);
    list.addGap("zero", 15, 5);
    list.addPlain(20, 10, 100);
    list.addPlain(30, 10, 110);
    list.addPlain(40, 10, 200);
    list.addPlain(60, 10, 210);
    assert.deepEqual(list.take(), [
      { kind: "hole", offset: 0, length: 15 },
      { kind: "zero", offset: 15, length: 5 },
      { kind: "data", offset: 20, length: 20, stored: { encoding: "plain", offset: 100, length: 20 } },
      { kind: "data", offset: 40, length: 10, stored: { encoding: "plain", offset: 200, length: 10 } },
      { kind: "data", offset: 60, length: 10, stored: { encoding: "plain", offset: 210, length: 10 } },
    ]);
    assert.ok(list.isEmpty);
  });

  it("is full with MAX_ANNOUNCED extents, or with a MiB of copied bytes", () => {
    const list = new ExtentList();
    for (let i = 0; i < MAX_ANNOUNCED; i++) {
      assert.ok(!list.isFull);
      list.addPlain(i * 10, 5, i * 10);
    }
    assert.ok(list.isFull);
    list.take();
    const bytes = new Uint8Array(4096);
    for (let i = 0; i < 256; i++) {
      assert.ok(!list.isFull);
      list.addInline(i * 4096, bytes);
    }
    assert.ok(list.isFull);
  });

  it("copies inline bytes, which the receiver may give away", () => {
    const list = new ExtentList();
    const bytes = new Uint8Array([1, 2, 3]);
    list.addInline(0, bytes);
    bytes.fill(9);
    assert.deepEqual(list.take(), [
      { kind: "data", offset: 0, length: 3, stored: { encoding: "inline", bytes: new Uint8Array([1, 2, 3]) } },
    ]);
  });
});
