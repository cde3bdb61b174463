import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MAX_ANNOUNCED } from "../../formats/disk-format.ts";
import { ExtentList } from "../../formats/extent-list.ts";

describe("a list of extents", () => {
  it("merges blanks of one kind, and plain data that is contiguous on both sides", () => {
    const list = new ExtentList();
    list.blank("hole", 0, 10);
    list.blank("hole", 10, 10);
    list.blank("zero", 20, 10);
    list.plain(30, 10, 500);
    list.plain(40, 5, 510);
    list.plain(45, 5, 600);
    list.blank("hole", 50, 1);
    assert.deepEqual(list.finish(), [
      { kind: "hole", offset: 0, length: 20 },
      { kind: "zero", offset: 20, length: 10 },
      { kind: "data", offset: 30, length: 15, stored: { encoding: "plain", offset: 500, length: 15 } },
      { kind: "data", offset: 45, length: 5, stored: { encoding: "plain", offset: 600, length: 5 } },
      { kind: "hole", offset: 50, length: 1 },
    ]);
  });

  it("never merges encoded extents, and keeps the order", () => {
    const list = new ExtentList();
    const stored = { encoding: "zlib", offset: 7, length: 3, decodedLength: 10, skip: 0 } as const;
    list.plain(0, 10, 0);
    list.encoded(10, 10, stored);
    list.encoded(20, 10, stored);
    list.plain(30, 10, 10);
    assert.deepEqual(
      list.finish().map((extent) => extent.offset),
      [0, 10, 20, 30],
    );
  });

  for (const encoded of [false, true]) {
    it(`is full before it is too long (${encoded ? "encoded" : "plain"})`, () => {
      const list = new ExtentList();
      for (let i = 0; !list.full; i++) {
        if (encoded) list.encoded(i, 1, { encoding: "zlib", offset: i, length: 1, decodedLength: 1, skip: 0 });
        else list.plain(i, 1, i * 2);
      }
      const { length } = list.finish();
      assert.ok(length === MAX_ANNOUNCED || length === MAX_ANNOUNCED - 1, `${length}`);
    });
  }
});
