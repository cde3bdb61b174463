import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { isZero, splitZeros, ZERO_GRAIN } from "../../../importer/engine/zero-search.ts";

interface Run {
  start: number;
  end: number;
  zero: boolean;
}

function runs(bytes: Uint8Array, offset: number): Run[] {
  const found: Run[] = [];
  splitZeros(bytes, offset, (start, end, zero) => found.push({ start, end, zero }));
  return found;
}

describe("isZero", () => {
  it("looks at every byte", () => {
    for (const length of [0, 1, 7, 4096, 65_536, 65_537, 200_000]) {
      const bytes = Buffer.alloc(length);
      assert.equal(isZero(bytes), true);
      for (const at of [0, 1, length >> 1, length - 1]) {
        if (at < 0 || at >= length) continue;
        bytes[at] = 1;
        assert.equal(isZero(bytes), false, `byte ${at} of ${length}`);
        assert.equal(isZero(bytes, 0, at), true);
        assert.equal(isZero(bytes, at + 1), true);
        bytes[at] = 0;
      }
    }
  });
});

describe("splitZeros", () => {
  it("covers the bytes once, in runs that alternate, cut at grains of the disk", () => {
    const blocks = fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 1, max: 20_000 })), { maxLength: 12 });
    fc.assert(
      fc.property(blocks, fc.integer({ min: 0, max: 10_000 }), (parts, offset) => {
        const bytes = Buffer.concat(parts.map(([zero, length]) => Buffer.alloc(length, zero ? 0 : 1)));
        let at = 0;
        let previous: boolean | undefined;
        for (const run of runs(bytes, offset)) {
          assert.equal(run.start, at);
          assert.ok(run.end > run.start);
          assert.notEqual(run.zero, previous);
          if (run.start > 0) assert.equal((offset + run.start) % ZERO_GRAIN, 0);
          if (run.zero) assert.ok(isZero(bytes, run.start, run.end));
          else forEachGrain(run, offset, (from, to) => assert.ok(!isZero(bytes, from, to)));
          previous = run.zero;
          at = run.end;
        }
        assert.equal(at, bytes.length);
      }),
      { seed: 42, numRuns: 200 },
    );
  });

  it("finds one byte in a megabyte of zeros", () => {
    const bytes = Buffer.alloc(1024 * 1024);
    bytes[700_000] = 1;
    const start = Math.floor(700_000 / ZERO_GRAIN) * ZERO_GRAIN;
    assert.deepEqual(runs(bytes, 0), [
      { start: 0, end: start, zero: true },
      { start, end: start + ZERO_GRAIN, zero: false },
      { start: start + ZERO_GRAIN, end: bytes.length, zero: true },
    ]);
  });
});

function forEachGrain(run: Run, offset: number, check: (from: number, to: number) => void): void {
  let at = run.start;
  while (at < run.end) {
    const to = Math.min(run.end, at + ZERO_GRAIN - ((offset + at) % ZERO_GRAIN));
    check(at, to);
    at = to;
  }
}
