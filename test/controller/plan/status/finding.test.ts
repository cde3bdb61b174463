/**
 * A condition's texts, and where the problem of a pass shows.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { finding, problemIn } from "../../../../controller/plan/status/finding.ts";
import { ownClaim, viewOf } from "../../../support/status-pass.ts";

const BOUND = { phase: "Bound" } as const;

describe("finding", () => {
  it("leaves out what is empty", () => {
    assert.deepEqual(finding("Ready", "True"), { type: "Ready", status: "True" });
    assert.deepEqual(finding("Ready", "False", "", "why"), { type: "Ready", status: "False", message: "why" });
  });

  it("cuts what Kubernetes' conditions have no room for", () => {
    const { reason = "", message = "" } = finding("Running", "False", "r".repeat(2000), "m".repeat(40_000));
    assert.deepEqual([Buffer.byteLength(reason), Buffer.byteLength(message)], [1024, 32_768]);
  });
});

describe("problemIn", () => {
  const problem = { reason: "ErrResourceExists", message: "somebody else's" };
  for (const [name, claimPhase, condition, phase, wanted] of [
    ["no claim", undefined, undefined, "Pending", "Bound"],
    ["a pending claim", "Pending", undefined, "Pending", "Bound"],
    ["a pending claim, of the worker", "Pending", "Running", "Pending", "Running"],
    ["a bound claim", "Bound", undefined, "PVCBound", "Running"],
    ["a bound claim, of the worker", "Bound", "Running", "ImportScheduled", "Running"],
    ["over", "Bound", "Running", "Succeeded", undefined],
    ["failed", "Pending", undefined, "Failed", undefined],
  ] as const) {
    it(`${name}: ${wanted ?? "nowhere"}`, () => {
      const target = claimPhase === undefined ? undefined : ownClaim({ status: claimPhase === "Bound" ? BOUND : {} });
      const view = viewOf({ target }, { problem: { ...problem, ...(condition && { condition }) } });
      const shown = (["Bound", "Running"] as const).filter((type) => problemIn(type, view, phase) !== undefined);
      assert.deepEqual(shown, wanted === undefined ? [] : [wanted]);
    });
  }

  it("nothing without one", () => {
    assert.equal(problemIn("Bound", viewOf(), "Pending"), undefined);
  });
});
