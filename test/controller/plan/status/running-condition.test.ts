/**
 * The condition Running: the rows of the contract's table, and what a step reports of the worker.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ANNOTATIONS } from "../../../../controller/api/names.ts";
import { runningFinding } from "../../../../controller/plan/status/running-condition.ts";
import { pod } from "../../../support/observed-import.ts";
import { ownClaim, viewOf } from "../../../support/status-pass.ts";

const { running, runningReason, runningMessage, podSchedulable } = ANNOTATIONS;
const BOUND = { phase: "Bound" } as const;
const NODES = "0/2 nodes are available: 2 node(s) had untolerated taint(s)";

const ROWS: readonly [name: string, annotations: Readonly<Record<string, string>>, wanted: readonly string[]][] = [
  ["nothing is known", {}, ["False"]],
  ["it runs", { [running]: "true", [runningReason]: "Pod is running" }, ["True", "Pod is running"]],
  ["it is made", { [running]: "false", [runningReason]: "ContainerCreating" }, ["False", "ContainerCreating"]],
  [
    "it is done",
    { [running]: "false", [runningReason]: "Completed", [runningMessage]: "Import Complete" },
    ["False", "Completed", "Import Complete"],
  ],
  [
    "it failed",
    { [running]: "false", [runningReason]: "Error", [runningMessage]: "status 404" },
    ["False", "Error", "status 404"],
  ],
  [
    "a value that is none",
    { [running]: "perhaps", [runningReason]: "Error", [runningMessage]: "status 404" },
    ["Unknown", "Error", "status 404"],
  ],
  ["only a reason", { [runningReason]: "ErrStartingPod" }, ["False", "ErrStartingPod"]],
  [
    "no node",
    { [podSchedulable]: "false", [running]: "true" },
    ["False", "Unschedulable", "Importer pod cannot be scheduled"],
  ],
  ["a node", { [podSchedulable]: "true", [running]: "true" }, ["True"]],
];

describe("runningFinding", () => {
  for (const [name, annotations, wanted] of ROWS) {
    it(name, () => {
      const { status, reason, message } = runningFinding(
        viewOf({ target: ownClaim({ annotations }) }),
        "ImportScheduled",
      );
      assert.deepEqual(
        [status, reason, message].filter((text) => text !== undefined),
        wanted,
      );
    });
  }

  it("without a claim nothing runs", () => {
    assert.deepEqual(runningFinding(viewOf(), "Pending"), { type: "Running", status: "False" });
  });

  it("says why no node takes the pod, in the scheduler's words", () => {
    const conditions = [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message: NODES }];
    const worker = pod({ status: { phase: "Pending", conditions } });
    const target = ownClaim({ annotations: { [podSchedulable]: "false" } });
    const found = runningFinding(viewOf({ target, worker }), "ImportScheduled");
    assert.equal(found.message, `Importer pod cannot be scheduled: ${NODES}`);
  });

  it("says what stops the worker, or an import whose claim is bound", () => {
    const problem = { reason: "ImportLimitReached", message: "2 imports run already", condition: "Running" } as const;
    const wanted = { type: "Running", status: "False", reason: problem.reason, message: problem.message };
    const pending = viewOf({ target: ownClaim() }, { problem });
    assert.deepEqual(runningFinding(pending, "Pending"), wanted);
    const { condition: _, ...ofAnyStep } = problem;
    const bound = viewOf({ target: ownClaim({ status: BOUND }) }, { problem: ofAnyStep });
    assert.deepEqual(runningFinding(bound, "PVCBound"), wanted);
    assert.equal(runningFinding(bound, "Succeeded").reason, undefined, "what is over has no problems");
  });
});
