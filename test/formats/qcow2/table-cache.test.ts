import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { TableCache } from "../../../formats/qcow2/table-cache.ts";

/** Reads through the cache; answers a Need with bytes that hold its offset. Returns whether it was asked. */
function read(cache: TableCache, offset: number, length: number): boolean {
  const parsing = cache.read(offset, length);
  let step = parsing.next();
  const asked = step.done !== true;
  if (step.done !== true) {
    assert.deepEqual(step.value, { offset, length });
    const lent = new Uint8Array(length).fill(offset);
    step = parsing.next(lent);
    lent.fill(0xa5);
  }
  assert.ok(step.done === true);
  assert.ok(step.value.byteLength >= length);
  assert.equal(step.value.getUint8(length - 1), offset);
  return asked;
}

describe("qcow2 table cache", () => {
  it("keeps the tables that were read last, within its limit", () => {
    const cache = new TableCache(30);
    assert.deepEqual(
      [1, 2, 3, 1].map((offset) => read(cache, offset, 10)),
      [true, true, true, false],
    );
    assert.ok(read(cache, 4, 10));
    assert.deepEqual(
      [1, 3, 4].map((offset) => read(cache, offset, 10)),
      [false, false, false],
    );
    assert.ok(read(cache, 2, 10), "used longest ago");
  });

  it("keeps one table that is larger than its limit", () => {
    const cache = new TableCache(5);
    assert.deepEqual(
      [1, 1, 2, 2, 1].map((offset) => read(cache, offset, 10)),
      [true, false, true, false, true],
    );
  });

  it("reads a table again to have more of it", () => {
    const cache = new TableCache(100);
    assert.deepEqual(
      [5, 5, 10, 5, 10].map((length) => read(cache, 1, length)),
      [true, false, true, false, false],
    );
  });

  it("is shared by walks that ask for the same table at once", () => {
    const cache = new TableCache(10);
    const walks = [cache.read(1, 8), cache.read(1, 8)];
    for (const walk of walks) assert.equal(walk.next().done, false);
    for (const walk of walks) assert.equal(walk.next(new Uint8Array(8)).done, true);
    assert.equal(cache.read(1, 8).next().done, true);
  });
});
