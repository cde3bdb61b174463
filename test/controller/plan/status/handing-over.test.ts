import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Claim } from "../../../../controller/api/kube.ts";
import { ANNOTATIONS } from "../../../../controller/api/names.ts";
import { restOfMomentMs } from "../../../../controller/plan/status/handing-over.ts";
import { outline, pod, primeOf } from "../../../support/observed-import.ts";
import { ownClaim, ownPopulatedClaim, statusPass, viewOf } from "../../../support/status-pass.ts";
import type { Seen } from "../../../support/status-pass.ts";

const ENDED = { [ANNOTATIONS.podPhase]: "Succeeded" };
const BEFORE = { phase: "ImportInProgress", progress: "45.31%" };
const NOW = Date.parse("2026-09-01T12:00:00Z");

/** Ended so long ago; undefined: nobody says when. */
function worker(ageMs: number | undefined): NonNullable<Seen["worker"]> {
  const finishedAt = ageMs === undefined ? {} : { finishedAt: new Date(NOW - ageMs).toISOString() };
  const state = { terminated: { exitCode: 0, ...finishedAt } };
  return pod({ status: { phase: "Succeeded", containerStatuses: [{ name: "importer", restartCount: 0, state }] } });
}

function handingOver(target: Claim, ageMs: number | undefined, more: Seen = {}): Seen {
  return { target, prime: primeOf(target, { annotations: ENDED }), worker: worker(ageMs), ...more };
}

describe("a DataVolume whose volume is handed over", () => {
  const target = ownPopulatedClaim({ annotations: ENDED });

  it("says nothing new for a moment", () => {
    for (const [ageMs, restMs] of [
      [0, 5000],
      [4999, 1],
      [-1000, 6000],
    ] as const) {
      assert.equal(restOfMomentMs(viewOf(handingOver(target, ageMs), { before: BEFORE })), restMs);
    }
    const { status, actions } = statusPass(handingOver(target, 1000), { before: BEFORE });
    assert.deepEqual(status, BEFORE);
    assert.deepEqual(outline(actions), ["again"]);
  });

  it("does where the moment gets long, or something is wrong, or it is over", () => {
    const running = { prime: primeOf(target, { annotations: { [ANNOTATIONS.podPhase]: "Running" } }) };
    const bound = ownPopulatedClaim({ annotations: ENDED, status: { phase: "Bound" } });
    const rows: readonly [string, Seen][] = [
      ["too long", handingOver(target, 5000)],
      ["a clock far behind", handingOver(target, 3_600_000)],
      ["a clock far ahead", handingOver(target, -3_600_000)],
      ["no time", handingOver(target, undefined)],
      ["no worker", handingOver(target, 0, { worker: undefined })],
      ["no prime", handingOver(target, 0, { prime: undefined })],
      ["no end", handingOver(target, 0, running)],
      ["bound", handingOver(bound, 0)],
      ["in place", { target: ownClaim({ annotations: ENDED }), worker: worker(0) }],
    ];
    for (const [name, seen] of rows) {
      assert.equal(restOfMomentMs(viewOf(seen, { before: BEFORE })), undefined, name);
    }
    const problem = { reason: "ErrHandingOver", message: "no" };
    assert.equal(restOfMomentMs(viewOf(handingOver(target, 0), { before: BEFORE, problem })), undefined);
    assert.equal(restOfMomentMs(viewOf(handingOver(target, 0))), undefined, "it has said nothing yet");
  });
});
