import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Claim } from "../../../../controller/api/kube.ts";
import { ANNOTATIONS } from "../../../../controller/api/names.ts";
import { restOfCrowdMs } from "../../../../controller/plan/status/crowd.ts";
import type { DataVolumePhase } from "../../../../controller/plan/status/phase.ts";
import { facts, outline, unborn } from "../../../support/observed-import.ts";
import { ownClaim, statusPass, viewOf } from "../../../support/status-pass.ts";
import type { Seen } from "../../../support/status-pass.ts";

const NOW = Date.parse("2026-09-01T12:00:00Z");

function statusOf(ageMs: number, phase = "Pending") {
  const lastHeartbeatTime = new Date(NOW - ageMs).toISOString();
  return { phase, conditions: [{ type: "Bound", status: "False", lastHeartbeatTime } as const] };
}

describe("a status in a crowd", () => {
  const cluster = facts({ isCrowded: true });
  const running = ownClaim({ annotations: { [ANNOTATIONS.podPhase]: "Running" }, status: { phase: "Bound" } });
  const seen: Seen = { target: running, cluster };
  const restOf = (before: ReturnType<typeof statusOf>, phase: DataVolumePhase, more: Seen = {}) =>
    restOfCrowdMs(viewOf({ ...seen, ...more }, { before }), phase);

  it("stays for a while as it was written", () => {
    assert.equal(restOf(statusOf(0), "ImportInProgress"), 30_000);
    assert.equal(restOf(statusOf(29_999, "ImportScheduled"), "ImportInProgress"), 1);
    const { status, actions } = statusPass(seen, { before: statusOf(1000) });
    assert.deepEqual(status, statusOf(1000));
    assert.deepEqual(outline(actions), ["again"]);
  });

  it("has not to be there at first, while its claim is new", () => {
    const first = (target: Claim | undefined): number | undefined => {
      return restOfCrowdMs(viewOf({ target, cluster }), "Pending");
    };
    const age = (ageMs: number): Claim => {
      const creationTimestamp = new Date(NOW - ageMs).toISOString();
      return { ...running, metadata: { ...running.metadata, creationTimestamp } };
    };
    assert.equal(first(age(5000)), 25_000);
    assert.equal(first(age(30_000)), undefined);
    assert.equal(first(unborn(running)), 30_000);
    assert.equal(first(undefined), undefined, "a claim that cannot be made is told at once");
  });

  it("is written where nothing is crowded, or after a while", () => {
    assert.equal(restOf(statusOf(0), "ImportInProgress", { cluster: facts() }), undefined);
    assert.equal(restOf(statusOf(30_000), "ImportInProgress"), undefined);
    assert.equal(restOf(statusOf(-1), "ImportInProgress"), undefined, "by somebody whose clock is ahead");
    assert.equal(restOf({ phase: "Pending", conditions: [] }, "ImportInProgress"), undefined, "nobody says when");
  });

  it("is written at once where somebody acts on it", () => {
    for (const phase of ["Succeeded", "Failed", "WaitForFirstConsumer", "PendingPopulation", "Paused"] as const) {
      assert.equal(restOf(statusOf(0), phase), undefined, phase);
    }
    for (const phase of ["", "WaitForFirstConsumer", "PendingPopulation"] as const) {
      assert.equal(restOf(statusOf(0, phase), "ImportInProgress"), undefined, `after ${phase}`);
    }
    const failed = ownClaim({
      annotations: {
        [ANNOTATIONS.podPhase]: "Running",
        [ANNOTATIONS.running]: "false",
        [ANNOTATIONS.runningReason]: "Error",
        [ANNOTATIONS.runningMessage]: "the image cannot be had",
      },
      status: { phase: "Bound" },
    });
    const { events } = statusPass({ target: failed, cluster }, { before: statusOf(0) });
    assert.deepEqual(events.at(-1), "Warning Error: the image cannot be had");
    const problem = { reason: "ErrStartingPod", message: "no" };
    assert.equal(restOfCrowdMs(viewOf(seen, { before: statusOf(0), problem }), "Pending"), undefined);
  });
});
