import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Samples } from "../../../cmd/bench/samples.ts";

describe("Samples", () => {
  it("keeps all of a short run", () => {
    const samples = new Samples();
    for (let at = 1; at <= 100; at++) samples.add(at / 10, () => at);
    assert.equal(samples.list.length, 100);
    assert.deepEqual(samples.list[99], [10, 100]);
  });

  it("keeps a bounded number of a long one, evenly from all over it", () => {
    const samples = new Samples();
    for (let at = 1; at <= 100_000; at++) samples.add(at, () => 2 * at);
    assert.ok(samples.list.length >= 200 && samples.list.length < 400, `${samples.list.length}`);
    const steps = samples.list.map(([at], index) => at - (samples.list[index - 1]?.[0] ?? 0));
    assert.equal(new Set(steps).size, 1);
    for (const [at, value] of samples.list) assert.equal(value, 2 * at);
    assert.ok((samples.list.at(-1)?.[0] ?? 0) > 99_000);
  });
});
