import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { STAGES, stagesOf, stagesText } from "../../cmd/stages.ts";
import { Counters } from "../../importer/engine/counters.ts";

const counters = new Counters();
for (const [name, ms] of [
  ["waitMs", 100],
  ["readMs", 200],
  ["decodeMs", 300],
  ["zeroSearchMs", 1],
  ["writeMs", 400.06],
] as const) {
  counters.add(name, ms);
}
const report = { totals: counters.totals(), waitedForSourceMs: 50, unwrapMs: 70, flushMs: 80 };

describe("stagesOf", () => {
  it("takes waiting for a file's bytes for reading, and waiting for the network for waiting", () => {
    const { sourceWaitMs, readMs, writeMs } = stagesOf(report, true);
    assert.deepEqual([sourceWaitMs, readMs, writeMs], [100, 250, 400.1]);
    const remote = stagesOf(report, false);
    assert.deepEqual([remote.sourceWaitMs, remote.readMs], [150, 200]);
  });

  it("knows a name for every stage", () => {
    assert.deepEqual(
      Object.keys(stagesOf(report, true)),
      STAGES.map(({ key }) => key),
    );
  });
});

describe("stagesText", () => {
  it("tells working from waiting, and leaves out what took no time", () => {
    const text = "worked: read 0.25 s, unwrap 0.07 s, decode 0.30 s, write 0.40 s; waited: source 0.10 s, flush 0.08 s";
    assert.equal(stagesText(stagesOf(report, true)), text);
  });
});
