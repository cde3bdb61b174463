import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Turns } from "../../importer/turns.ts";

describe("Turns", () => {
  it("gives none while others were waiting for a moment only", () => {
    assert.equal(new Turns().due(), undefined);
  });

  it("lets a timer run in a loop that waits for nothing else", async () => {
    const turns = new Turns();
    const timer = { ran: false };
    setTimeout(() => {
      timer.ran = true;
    }, 1);
    const deadline = performance.now() + 10_000;
    while (!timer.ran && performance.now() < deadline) await turns.due();
    assert.ok(timer.ran);
  });

  it("starts to count again after a turn", async () => {
    const turns = new Turns();
    let turn: Promise<void> | undefined;
    for (const deadline = performance.now() + 10_000; turn === undefined && performance.now() < deadline;)
      turn = turns.due();
    assert.notEqual(turn, undefined);
    await turn;
    assert.equal(turns.due(), undefined);
  });
});
