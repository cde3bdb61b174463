import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { figuresOf, median, middleRun, spreadOf } from "../../../cmd/bench/bench-report.ts";
import type { Run } from "../../../cmd/bench/bench-report.ts";

function run(seconds: number, more: Partial<Run> = {}): Run {
  const rest = { groupPeakBytes: null, bytesWritten: null, samples: [], own: null };
  return { seconds, cpuSeconds: seconds * 2, peakRssBytes: 1e6 * seconds, ...rest, ...more };
}

describe("median", () => {
  it("is the middle value, whatever the order", () => {
    assert.equal(median([3, 1, 2]), 2);
    assert.equal(median([10, 9, 1, 2]), 5.5);
    assert.equal(median([7]), 7);
  });

  it("is not defined for nothing", () => {
    assert.throws(() => median([]));
  });
});

describe("figuresOf", () => {
  it("gives median and range, rates at the median, and the ratio to the reference", () => {
    const figures = figuresOf([run(4), run(2), run(3)], [run(1), run(1.5), run(9)], {
      storedBytes: 6,
      virtualSize: 60,
    });
    assert.deepEqual(figures?.seconds, { median: 3, min: 2, max: 4 });
    assert.deepEqual(figures?.cpuSeconds, spreadOf([4, 6, 8]));
    assert.deepEqual([figures?.sourceBytesPerSecond, figures?.virtualBytesPerSecond], [2, 20]);
    assert.equal(figures?.ratio, 2);
  });

  it("claims nothing that is not known of every run", () => {
    const figures = figuresOf([run(1, { bytesWritten: 5 }), run(2)], [], { storedBytes: null, virtualSize: null });
    assert.equal(figures?.bytesWritten, null);
    assert.equal(figures?.sourceBytesPerSecond, null);
    assert.equal(figures?.ratio, null);
    assert.equal(figuresOf([], [run(1)], { storedBytes: 1, virtualSize: 1 }), null);
  });
});

describe("middleRun", () => {
  it("is one that took place", () => {
    assert.equal(middleRun([run(5), run(1), run(2)])?.seconds, 2);
    assert.equal(middleRun([run(5), run(1)])?.seconds, 1);
    assert.equal(middleRun([]), undefined);
  });
});
