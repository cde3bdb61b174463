import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Overlap, OVERLAP_LENGTH } from "../../../importer/http/overlap.ts";
import { baseDisk } from "../../support/base-disk.ts";

const BYTES = baseDisk(3 * OVERLAP_LENGTH);

describe("Overlap", () => {
  it("keeps the last 64 KiB of pieces of any length", () => {
    for (const piece of [1000, 4096, 60_001, OVERLAP_LENGTH, OVERLAP_LENGTH + 1, BYTES.length]) {
      const overlap = new Overlap();
      for (let at = 0; at < BYTES.length; at += piece) {
        overlap.push(BYTES.subarray(at, at + piece));
        const end = Math.min(BYTES.length, at + piece);
        const expected = BYTES.subarray(Math.max(0, end - OVERLAP_LENGTH), end);
        assert.equal(overlap.length, expected.length);
        assert.ok(expected.equals(overlap.bytes()), `${piece} at ${at}`);
      }
    }
  });

  it("is empty at first", () => {
    assert.deepEqual([new Overlap().length, new Overlap().bytes().length], [0, 0]);
  });
});
