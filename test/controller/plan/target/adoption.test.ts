/**
 * Which claims fulfil a DataVolume as they are (contract 2.1).
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { requiresWork } from "../../../../controller/plan/target/adoption.ts";
import { cdiConfig, claim, dataVolume, facts } from "../../../support/observed-import.ts";

const POPULATED_FOR = "cdi.kubevirt.io/storage.populatedFor";
const CREATED_FOR = "cdi.kubevirt.io/createdForDataVolume";
const ALLOW = "cdi.kubevirt.io/allowClaimAdoption";

const ROWS: readonly [string, Record<string, string>, string | undefined, boolean, boolean][] = [
  ["a claim that nobody spoke for", {}, undefined, false, true],
  ["populated for it", { [POPULATED_FOR]: "fedora" }, undefined, false, false],
  ["populated for another", { [POPULATED_FOR]: "debian" }, undefined, false, true],
  ["adoption allowed", {}, "true", false, false],
  ["in another of Go's words", {}, "1", false, false],
  ["forbidden though the gate is on", {}, "false", true, true],
  ["not a truth value", {}, "please", true, true],
  ["the gate", {}, undefined, true, false],
  ["made for this very DataVolume", { [CREATED_FOR]: "dv-uid" }, "true", true, true],
  ["made for it, and filled", { [CREATED_FOR]: "dv-uid", [POPULATED_FOR]: "fedora" }, undefined, false, false],
  ["made for an earlier one", { [CREATED_FOR]: "old-uid" }, "true", false, false],
];

describe("requiresWork", () => {
  for (const [name, annotations, allowed, gate, wanted] of ROWS) {
    it(name, () => {
      const featureGates = gate ? ["DataVolumeClaimAdoption"] : [];
      const asked = dataVolume({ annotations: allowed === undefined ? {} : { [ALLOW]: allowed } });
      const cluster = facts({ config: cdiConfig({ featureGates }) });
      assert.equal(requiresWork(claim({ annotations }), asked, cluster), wanted);
    });
  }

  it("without CDIConfig there is no gate", () => {
    assert.equal(requiresWork(claim(), dataVolume(), facts()), true);
  });
});
