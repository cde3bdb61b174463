import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MAX_SPARSE_ENTRIES, SparseMap } from "../../../../formats/archives/tar/sparse-map.ts";

function mapOf(...entries: [number, number][]): SparseMap {
  const map = new SparseMap();
  for (const [offset, length] of entries) map.add(offset, length);
  return map;
}

describe("SparseMap", () => {
  it("places each range at a block, and merges only true neighbours", () => {
    assert.deepEqual(mapOf([0, 512], [512, 100], [612, 512]).extents(2000, 1024, 1536), [
      { offset: 0, length: 612, hostOffset: 1024 },
      { offset: 612, length: 512, hostOffset: 2048 },
    ]);
    assert.deepEqual(mapOf().extents(7, 512, 0), []);
    assert.deepEqual(mapOf([7, 0]).extents(7, 512, 0), []);
  });

  it("refuses ranges out of order, beyond the member, beyond what is stored, beyond numbers", () => {
    assert.throws(() => mapOf([512, 512], [1023, 1]), /entry at 1023, before the end 1024/);
    assert.throws(() => mapOf([512, 0], [0, 0]), /before the end 512/);
    assert.throws(() => mapOf([0, 8]).extents(7, 0, 8), /ends at 8, the member at 7/);
    assert.throws(() => mapOf([0, 513]).extents(600, 0, 512), /takes 513 stored bytes, the header says 512/);
    assert.throws(() => mapOf([0, 512]).extents(600, 0, 1024), /takes 512 stored bytes, the header says 1024/);
    assert.throws(() => mapOf([Number.MAX_SAFE_INTEGER, 1]), /above 2\^53 - 1/);
  });

  it("holds so many entries and no more", () => {
    const map = new SparseMap();
    for (let i = 0; i < MAX_SPARSE_ENTRIES; i++) map.add(i, 0);
    assert.equal(map.entries, MAX_SPARSE_ENTRIES);
    assert.throws(() => map.add(MAX_SPARSE_ENTRIES, 0), /more than 262144 entries/);
  });
});
