import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { StallWatch } from "../../../importer/http/stall.ts";

describe("StallWatch", () => {
  it("aborts after silence that somebody waited in", async () => {
    const watch = new StallWatch(20, undefined);
    watch.start();
    await sleep(60);
    assert.deepEqual([watch.stalled, watch.signal.aborted], [true, true]);
  });

  it("does not abort while bytes come, or while nobody waits", async () => {
    const watch = new StallWatch(60, undefined);
    for (let i = 0; i < 6; i++) {
      watch.start();
      await sleep(20);
    }
    watch.stop();
    await sleep(100);
    assert.deepEqual([watch.stalled, watch.signal.aborted], [false, false]);
  });

  it("ends with the signal of its user, which is no stall", () => {
    const outer = new AbortController();
    const watch = new StallWatch(1000, outer.signal);
    watch.start();
    outer.abort();
    assert.deepEqual([watch.stalled, watch.signal.aborted], [false, true]);
    assert.equal(new StallWatch(1000, outer.signal).signal.aborted, true);
  });
});
