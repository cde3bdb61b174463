import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { median, resultsTable } from "../../bench/results.ts";

const run = (seconds: number, peakRssBytes = 100e6) => ({ seconds, cpuSeconds: seconds * 2, peakRssBytes });

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

describe("resultsTable", () => {
  it("gives medians, ranges, and how often decant would have been through meanwhile", () => {
    const race = {
      image: "zlib.qcow2",
      storedBytes: 1,
      entries: [
        { contender: "decant", line: "", runs: [run(1), run(0.9), run(2)] },
        { contender: "peer", line: "", runs: [run(2.5, 5e6), run(2.4, 5e6), run(2.6, 5e6)] },
      ],
    };
    assert.deepEqual(resultsTable([race]).split("\n"), [
      "image               seconds    (range)       decant is  CPU s  peak MB",
      "zlib.qcow2  decant     1.00  0.90-2.00                   2.00      100",
      "            peer       2.50  2.40-2.60  2.50 x as fast   5.00        5",
    ]);
  });
});
