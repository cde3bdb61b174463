/**
 * What the status step sees of an import: whose the claim is, and what of a worker counts.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ANNOTATIONS, GATE_CLAIM_ADOPTION } from "../../../../controller/api/names.ts";
import { cdiConfig, claim, dataVolume, pod, primeOf, unborn } from "../../../support/observed-import.ts";
import { ownClaim, ownPopulatedClaim, viewOf } from "../../../support/status-pass.ts";
import type { Seen } from "../../../support/status-pass.ts";

const BOUND = { phase: "Bound" } as const;
const named = { [ANNOTATIONS.importPodName]: "importer-fedora" };

describe("viewImport", () => {
  it("knows the claim by its owner, not by its name", () => {
    const annotations = { [ANNOTATIONS.podPhase]: "Succeeded", [ANNOTATIONS.createdForDataVolume]: "dv-uid" };
    for (const owner of [undefined, dataVolume({ uid: "another-uid" })]) {
      const target = claim({ annotations, status: BOUND, ...(owner && { owner }) });
      const { claim: seen, annotations: of, claimPhase, path } = viewOf({ target });
      assert.deepEqual([seen, of, claimPhase, path], [undefined, {}, undefined, "none"]);
    }
    assert.equal(viewOf({ target: ownClaim({ status: BOUND }) }).claimPhase, "Bound");
  });

  const SCHEDULED: readonly [name: string, seen: Seen, wanted: boolean][] = [
    ["legacy: bound", { target: ownClaim({ status: BOUND }) }, false],
    ["legacy: a pod, not bound", { target: ownClaim(), worker: pod() }, false],
    ["legacy: a pod", { target: ownClaim({ status: BOUND }), worker: pod() }, true],
    ["legacy: a pod of this pass", { target: ownClaim({ status: BOUND }), worker: unborn(pod()) }, true],
    ["legacy: a pod's name", { target: ownClaim({ status: BOUND, annotations: named }) }, true],
    ["populator: no prime", { target: ownPopulatedClaim(), worker: pod() }, false],
    ["populator: a prime", populated({ status: BOUND }), false],
    ["populator: a pod, the prime is not bound", { ...populated({}), worker: pod() }, false],
    ["populator: a pod of this pass", { ...populated({ status: BOUND }), worker: unborn(pod()) }, false],
    ["populator: a pod's name", populated({ status: BOUND, annotations: named }), false],
    ["populator: a pod", { ...populated({ status: BOUND }), worker: pod() }, true],
    [
      "populator: a pod's phase",
      populated({ status: BOUND, annotations: { [ANNOTATIONS.podPhase]: "Pending" } }),
      true,
    ],
  ];
  for (const [name, seen, wanted] of SCHEDULED) {
    it(`${name} is ${wanted ? "" : "not "}scheduled`, () => {
      assert.equal(viewOf(seen).isScheduled, wanted);
    });
  }

  it("is terminal by the annotation of the claim to fill, or of the target when it has gone over", () => {
    const annotations = { [ANNOTATIONS.terminal]: "FORMAT_CORRUPT" };
    assert.equal(viewOf(populated({ annotations })).isTerminal, true);
    assert.equal(viewOf({ target: ownClaim({ annotations }) }).isTerminal, true);
    assert.equal(viewOf({ target: ownPopulatedClaim({ annotations }) }).isTerminal, true);
    assert.equal(viewOf(populated({})).isTerminal, false);
  });

  const PRE_POPULATED: readonly [name: string, annotations: Readonly<Record<string, string>>, wanted: boolean][] = [
    ["made to be filled", {}, false],
    ["said to hold this disk", { [ANNOTATIONS.populatedFor]: "fedora" }, true],
    ["said to hold another disk", { [ANNOTATIONS.populatedFor]: "debian" }, false],
    ["adopted, whatever is allowed by now", { [ANNOTATIONS.createdForDataVolume]: "old-uid" }, true],
  ];
  for (const [name, annotations, wanted] of PRE_POPULATED) {
    it(`${name}: ${wanted ? "nothing" : "much"} is to be done`, () => {
      assert.equal(viewOf({ target: ownClaim({ annotations }) }).isPrePopulated, wanted);
    });
  }

  it("a claim that says nothing of whom it was made for is adopted only where that is allowed", () => {
    const target = claim({ owner: dataVolume() });
    assert.equal(viewOf({ target }).isPrePopulated, false);
    const config = cdiConfig({ featureGates: [GATE_CLAIM_ADOPTION] });
    assert.equal(viewOf({ target, cluster: { config } }).isPrePopulated, true);
  });
});

function populated(parts: Parameters<typeof primeOf>[1]): Seen {
  const target = ownPopulatedClaim();
  return { target, prime: primeOf(target, parts) };
}
