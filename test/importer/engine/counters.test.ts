import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Counters, sumTotals } from "../../../importer/engine/counters.ts";

describe("Counters", () => {
  it("count in memory that another thread sees", () => {
    const mine = new Counters();
    const seen = new Counters(mine.shared);
    mine.add("bytesWritten", 2 ** 40);
    mine.add("bytesWritten", 1);
    mine.add("writes", 2);
    assert.equal(seen.totals().bytesWritten, 2 ** 40 + 1);
    assert.equal(seen.totals().writes, 2);
    assert.equal(seen.totals().bytesRead, 0);
  });

  it("add up over threads", () => {
    const [a, b] = [new Counters(), new Counters()];
    a.add("reads", 3);
    b.add("reads", 4);
    b.add("decodeMs", 0.5);
    const sum = sumTotals([a, b]);
    assert.equal(sum.reads, 7);
    assert.equal(sum.decodeMs, 0.5);
    assert.equal(sumTotals([]).reads, 0);
  });
});
