/**
 * The list of conditions: Ready, and when each of them changed.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Condition } from "../../../../controller/api/cdi.ts";
import { ANNOTATIONS } from "../../../../controller/api/names.ts";
import { findCondition } from "../../../../controller/plan/condition-times.ts";
import { conditionsOf } from "../../../../controller/plan/status/conditions.ts";
import type { DataVolumePhase } from "../../../../controller/plan/status/phase.ts";
import { ownClaim, viewOf } from "../../../support/status-pass.ts";
import type { Seen } from "../../../support/status-pass.ts";

const NOW = "2026-09-01T12:00:00Z";
const LONG_AGO = { lastTransitionTime: "2026-08-01T00:00:00Z", lastHeartbeatTime: "2026-08-02T00:00:00Z" };
const IS_RUNNING = { [ANNOTATIONS.running]: "true", [ANNOTATIONS.runningReason]: "Pod is running" };

const claimed: Seen = { target: ownClaim({ status: { phase: "Bound" } }) };
const running: Seen = { target: ownClaim({ status: { phase: "Bound" }, annotations: IS_RUNNING }) };

describe("Ready", () => {
  const ROWS: readonly [name: string, seen: Seen, phase: DataVolumePhase, wanted: readonly string[]][] = [
    ["no claim", {}, "Pending", ["False", "NotFound", "No PVC found"]],
    ["done, but the claim is gone", {}, "Succeeded", ["False", "NotFound", "No PVC found"]],
    ["waiting", claimed, "PVCBound", ["False"]],
    ["importing", running, "ImportInProgress", ["False", "TransferRunning"]],
    ["done", claimed, "Succeeded", ["True"]],
    ["done, whatever the annotations were left at", running, "Succeeded", ["True"]],
    ["failed", claimed, "Failed", ["False"]],
    ["unknown", claimed, "Unknown", ["Unknown"]],
  ];
  for (const [name, seen, phase, wanted] of ROWS) {
    it(name, () => {
      const ready = findCondition(conditionsOf(viewOf(seen), phase), "Ready");
      assert.deepEqual(
        [ready?.status, ready?.reason, ready?.message].filter((text) => text !== undefined),
        wanted,
      );
    });
  }

  it("says what a step reported, while there is no claim", () => {
    const problem = { reason: "ErrClaimNotValid", message: "no access mode" };
    const ready = findCondition(conditionsOf(viewOf({}, { problem }), ""), "Ready");
    assert.deepEqual([ready?.reason, ready?.message], [problem.reason, problem.message]);
  });
});

describe("conditionsOf", () => {
  it("are three, and new ones changed now", () => {
    const conditions = conditionsOf(viewOf(claimed), "PVCBound");
    assert.deepEqual(
      conditions.map(({ type }) => type),
      ["Bound", "Ready", "Running"],
    );
    for (const one of conditions) {
      assert.deepEqual([one.lastTransitionTime, one.lastHeartbeatTime], [NOW, NOW], one.type);
    }
  });

  it("keep their times while they say the same, with texts that are empty or absent", () => {
    const before: Condition[] = [
      { type: "Bound", status: "True", reason: "Bound", message: "PVC fedora Bound", ...LONG_AGO },
      { type: "Ready", status: "False", reason: "", message: "", ...LONG_AGO },
      { type: "Running", status: "False", ...LONG_AGO },
    ];
    assert.deepEqual(conditionsOf(viewOf(claimed, { before: { conditions: before } }), "PVCBound"), before);
  });

  it("changed when their status did, and were heard of when anything did", () => {
    const before: Condition[] = [
      { type: "Bound", status: "True", reason: "Bound", message: "another text", ...LONG_AGO },
      { type: "Running", status: "True", reason: "Pod is running", ...LONG_AGO },
    ];
    const conditions = conditionsOf(viewOf(claimed, { before: { conditions: before } }), "PVCBound");
    const [bound, ready, run] = ["Bound", "Ready", "Running"].map((type) => findCondition(conditions, type));
    assert.deepEqual([bound?.lastTransitionTime, bound?.lastHeartbeatTime], [LONG_AGO.lastTransitionTime, NOW]);
    assert.deepEqual([ready?.lastTransitionTime, ready?.lastHeartbeatTime], [NOW, NOW]);
    assert.deepEqual([run?.lastTransitionTime, run?.lastHeartbeatTime], [NOW, NOW]);
  });

  it("of other types stay", () => {
    const other: Condition = { type: "Audited", status: "True", ...LONG_AGO };
    const conditions = conditionsOf(viewOf(claimed, { before: { conditions: [other] } }), "PVCBound");
    assert.deepEqual(findCondition(conditions, "Audited"), other);
    assert.equal(conditions.length, 4);
  });
});
