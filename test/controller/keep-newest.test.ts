import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { keepNewest } from "../../controller/keep-newest.ts";

describe("keepNewest", () => {
  it("forgets what was added first", () => {
    const names = new Set(["a", "b", "c", "d"]);
    keepNewest(names, 2);
    assert.deepEqual([...names], ["c", "d"]);
    const counts = new Map([
      ["a", 1],
      ["b", 2],
    ]);
    keepNewest(counts, 1);
    assert.deepEqual([...counts], [["b", 2]]);
  });

  it("leaves what is not too much as it is", () => {
    const names = new Set(["a", "b"]);
    keepNewest(names, 2);
    assert.deepEqual([...names], ["a", "b"]);
    keepNewest(new Set(), 0);
  });
});
