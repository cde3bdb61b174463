/**
 * The patch, applied, gives what was wanted, and there is none where there is nothing to do.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { replacingPatch } from "../../../../controller/plan/cluster/replacing-patch.ts";
import { applyPatch } from "../../../../controller/plan/draft.ts";

const CASES: readonly [string, object | undefined, object, object | undefined][] = [
  ["from nothing", undefined, { a: 1 }, { a: 1 }],
  ["equal", { a: { b: [1, 2] } }, { a: { b: [1, 2] } }, undefined],
  ["a key that is not wanted", { a: 1, b: 2 }, { a: 1 }, { b: null }],
  ["deep inside", { a: { b: 1, c: 2 } }, { a: { b: 1, d: 3 } }, { a: { c: null, d: 3 } }],
  ["undefined is not there", { a: 1 }, { a: undefined }, { a: null }],
  ["a list is replaced whole", { a: [1, 2] }, { a: [1] }, { a: [1] }],
  ["a map where there was a text", { a: "x" }, { a: { b: 1 } }, { a: { b: 1 } }],
  ["nothing is wanted", { a: 1 }, {}, { a: null }],
];

describe("replacingPatch", () => {
  for (const [name, current, wanted, patch] of CASES) {
    it(name, () => {
      const found = replacingPatch(current, wanted);
      assert.deepEqual(found, patch);
      const after = found === undefined ? current : applyPatch(current ?? {}, found);
      assert.deepEqual(after, JSON.parse(JSON.stringify(wanted)));
    });
  }
});
