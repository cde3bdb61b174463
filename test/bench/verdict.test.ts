import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Row } from "../../bench/goals.ts";
import { cannotBegin, judge } from "../../bench/verdict.ts";
import { figuresOf } from "../../cmd/bench/bench-report.ts";
import type { Entry } from "../../cmd/bench/bench-report.ts";

const ROW: Row = {
  image: "zlib.qcow2",
  place: "local",
  line: "B",
  goal: { ratio: 2 },
  cpuAtMost: 1,
  window: 0,
  isQuick: true,
};

const HERE = { threads: 2, load: 0.5 };

const DECANT = racedEntry("decant, 2 threads", "decant", { seconds: 2, cpuSeconds: 3, peak: 140e6 });
const B = racedEntry("B", "qemu-img", { seconds: 5, cpuSeconds: 4, peak: 20e6 });

describe("judge", () => {
  it("divides the line's seconds by decant's, and decant's CPU seconds by the line's", () => {
    const verdict = judge(ROW, { entries: [DECANT, B] }, HERE);
    assert.equal(verdict.row, "zlib.qcow2 local");
    assert.deepEqual([verdict.seconds, verdict.ratio, verdict.held], [2, 2.5, true]);
    assert.deepEqual(verdict.cpu, { value: 0.75, atMost: 1, held: true });
    assert.deepEqual(verdict.memory, { value: 140e6, atMost: 150e6, held: true });
    assert.deepEqual(verdict.troubles, []);
  });

  it("misses what is not reached", () => {
    const slow = racedEntry("decant, 2 threads", "decant", { seconds: 2.6, cpuSeconds: 4.1, peak: 150_000_001 });
    const verdict = judge(ROW, { entries: [slow, B] }, HERE);
    assert.deepEqual([verdict.held, verdict.cpu.held, verdict.memory.held], [false, false, false]);
  });

  it("holds what is just reached", () => {
    const even = racedEntry("decant, 2 threads", "decant", { seconds: 2.5, cpuSeconds: 4, peak: 150e6 });
    const verdict = judge(ROW, { entries: [even, B] }, HERE);
    assert.deepEqual([verdict.held, verdict.cpu.held, verdict.memory.held], [true, true, true]);
  });

  it("asks decant's seconds where the goal is one", () => {
    const row = { ...ROW, goal: { seconds: 2 } };
    assert.equal(judge(row, { entries: [DECANT, B] }, HERE).held, false);
    assert.equal(judge({ ...row, goal: { seconds: 2.01 } }, { entries: [DECANT] }, HERE).held, true);
  });

  it("tells nothing of a line that failed or wrote another disk, and says so", () => {
    for (const wrong of [{ failure: "status 1" }, { verdict: "different" as const }]) {
      const verdict = judge(ROW, { entries: [DECANT, { ...B, ...wrong }] }, HERE);
      assert.deepEqual([verdict.ratio, verdict.held, verdict.cpu.held], [null, null, null]);
      assert.equal(verdict.troubles.length, 1);
      assert.match(verdict.troubles[0] ?? "", /^B: /);
    }
  });

  it("holds nothing that decant fails, or writes wrongly", () => {
    for (const wrong of [{ failure: "status 1" }, { verdict: "different" as const }]) {
      assert.equal(judge(ROW, { entries: [{ ...DECANT, ...wrong }, B] }, HERE).held, false);
    }
    const verdict = cannotBegin(ROW, "no such server", HERE);
    assert.deepEqual([verdict.held, verdict.troubles], [false, ["no such server"]]);
  });

  it("keeps limits, portable decoders and peers apart", () => {
    const portable = racedEntry("decant, 2 threads, portable", "decant", { seconds: 4, cpuSeconds: 6, peak: 1 });
    const limit = racedEntry("disk alone: cp", "limit", { seconds: 1, cpuSeconds: 1, peak: 1 });
    const quick = racedEntry("C", "qemu-img", { seconds: 3, cpuSeconds: 4, peak: 1 });
    const verdict = judge(ROW, { entries: [DECANT, B, quick, portable, limit] }, HERE);
    assert.equal(verdict.portableRatio, 1.25);
    assert.deepEqual(verdict.fastestPeer, { name: "C", ratio: 1.5 });
    assert.deepEqual(verdict.limits, [{ name: "disk alone: cp", seconds: 1 }]);
    const against = judge({ ...ROW, line: limit.name }, { entries: [DECANT, limit] }, HERE);
    assert.deepEqual([against.ratio, against.limits], [0.5, []]);
  });
});

interface Took {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly peak: number;
}

/** One run that wrote the right disk. */
function racedEntry(name: string, peer: string, { seconds, cpuSeconds, peak }: Took): Entry {
  const nothing = { groupPeakBytes: null, bytesWritten: null, samples: [], own: null };
  const runs = [{ seconds, cpuSeconds, peakRssBytes: peak, ...nothing }];
  const figures = figuresOf(runs, runs, { storedBytes: null, virtualSize: null });
  return { name, peer, command: "true", verdict: "same", failure: null, runs, figures };
}
