/**
 * Progress on both paths, and restarts; and what is neither.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ANNOTATIONS } from "../../../../controller/api/names.ts";
import type { DataVolumePhase } from "../../../../controller/plan/status/phase.ts";
import { progressOf, restartsOf } from "../../../../controller/plan/status/progress.ts";
import { claim, dataVolume } from "../../../support/observed-import.ts";
import { ownClaim, ownPopulatedClaim, viewOf } from "../../../support/status-pass.ts";
import type { Seen } from "../../../support/status-pass.ts";

const populated = (progress: string): Seen => ({
  target: ownPopulatedClaim({ annotations: { [ANNOTATIONS.populatorProgress]: progress } }),
});

const ROWS: readonly [name: string, Seen, DataVolumePhase, before: string | undefined, wanted: string | undefined][] = [
  ["no claim", {}, "Pending", undefined, undefined],
  ["the claim is gone", {}, "ImportInProgress", "45.31%", "45.31%"],
  ["legacy: a claim", { target: ownClaim() }, "Pending", undefined, "N/A"],
  ["legacy: the worker said", { target: ownClaim(), progress: "45.31%" }, "ImportInProgress", "N/A", "45.31%"],
  ["legacy: the worker was silent", { target: ownClaim() }, "ImportInProgress", "45.31%", "45.31%"],
  ["legacy: done", { target: ownClaim(), progress: "99.9%" }, "Succeeded", "45.31%", "100.0%"],
  ["legacy: no figure", { target: ownClaim(), progress: "1e2%" }, "ImportInProgress", "half", "N/A"],
  ["populator: a claim", { target: ownPopulatedClaim() }, "Pending", undefined, "N/A"],
  ["populator: the claim says", populated("45.31%"), "ImportInProgress", "N/A", "45.31%"],
  ["populator: filled", populated("100.0%"), "ImportInProgress", "45.31%", "100.0%"],
  ["populator: no figure", populated("<b>"), "ImportInProgress", "45.31%", "N/A"],
  ["populator: done", { target: ownPopulatedClaim() }, "Succeeded", "45.31%", "100.0%"],
  [
    "it came with its data",
    { target: ownClaim({ annotations: { [ANNOTATIONS.populatedFor]: "fedora" } }) },
    "Succeeded",
    "N/A",
    "100.0%",
  ],
  [
    "filled by another controller in its own way",
    { target: claim({ owner: dataVolume(), annotations: { [ANNOTATIONS.createdForDataVolume]: "dv-uid" } }) },
    "Succeeded",
    undefined,
    "N/A",
  ],
];

describe("progressOf", () => {
  for (const [name, seen, phase, before, wanted] of ROWS) {
    it(name, () => {
      const status = before === undefined ? {} : { progress: before };
      assert.equal(progressOf(viewOf(seen, { before: status }), phase), wanted);
    });
  }
});

describe("restartsOf", () => {
  for (const [text, wanted] of [
    ["0", undefined],
    ["3", 3],
    ["-1", undefined],
    ["3.5", undefined],
    ["99999999999999999999", undefined],
    ["three", undefined],
  ] as const) {
    it(`${text}: ${wanted ?? "none"}`, () => {
      const target = ownClaim({ annotations: { [ANNOTATIONS.podRestarts]: text } });
      assert.equal(restartsOf(viewOf({ target })), wanted);
    });
  }

  it("stays while there is no claim", () => {
    assert.equal(restartsOf(viewOf({}, { before: { restartCount: 2 } })), 2);
  });
});
