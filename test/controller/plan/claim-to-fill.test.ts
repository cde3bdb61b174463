import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { Claim } from "../../../controller/api/kube.ts";
import { ANNOTATIONS } from "../../../controller/api/names.ts";
import { claimToFill, fillPath, isFilled } from "../../../controller/plan/claim-to-fill.ts";
import { claim, observed, populatedClaim, primeOf } from "../../support/observed-import.ts";

const REFERENCE = { apiGroup: "cdi.kubevirt.io", kind: "VolumeImportSource", name: "source" };
const IN_PLACE = claim({ annotations: { [ANNOTATIONS.importEndpoint]: "http://images.example.org/disk.img" } });

const EXTERNAL = { ...IN_PLACE.metadata.annotations, [ANNOTATIONS.externalPopulation]: "true" };

function referring(change: Partial<typeof REFERENCE & { readonly namespace: string }>): Claim {
  return claim({ ...IN_PLACE.metadata, spec: { dataSourceRef: { ...REFERENCE, ...change } } });
}

describe("fillPath", () => {
  const rows: readonly [string, Claim, ReturnType<typeof fillPath>][] = [
    ["nothing of ours", claim(), "none"],
    ["an endpoint", IN_PLACE, "legacy"],
    ["a source", claim({ annotations: { [ANNOTATIONS.importSource]: "none" } }), "legacy"],
    ["a reference to a source object", referring({}), "populator"],
    ["a reference without a name", referring({ name: "" }), "none"],
    ["a reference into another namespace", referring({ namespace: "other" }), "none"],
    ["a reference to an upload", referring({ kind: "VolumeUploadSource" }), "none"],
    ["a reference to another group", referring({ apiGroup: "example.org" }), "none"],
    ["others' to fill", claim({ ...IN_PLACE.metadata, annotations: EXTERNAL }), "none"],
    ["others' to fill, who name a source object", populatedClaim({ annotations: EXTERNAL }), "populator"],
  ];
  for (const [name, target, expected] of rows)
    it(`${name}: ${expected}`, () => assert.equal(fillPath(target), expected));
});

describe("claimToFill", () => {
  const target = populatedClaim();
  const prime = primeOf(target);
  const rows: readonly [string, Parameters<typeof observed>[0], Claim | undefined][] = [
    ["no target", { prime }, undefined],
    ["a target that nothing fills", { target: claim(), prime }, undefined],
    ["a target in place", { target: IN_PLACE, prime }, IN_PLACE],
    ["a target without its prime", { target }, undefined],
    ["a target with its prime", { target, prime }, prime],
    ["a prime of somebody else", { target, prime: claim({ name: prime.metadata.name }) }, undefined],
    ["a prime of an earlier target", { target: populatedClaim({ uid: "next-uid" }), prime }, undefined],
  ];
  for (const [name, parts, expected] of rows) it(name, () => assert.equal(claimToFill(observed(parts)), expected));
});

describe("isFilled", () => {
  const { podPhase, checkpointCurrent, checkpointDone } = ANNOTATIONS;
  const rows: readonly [Readonly<Record<string, string>>, boolean][] = [
    [{}, false],
    [{ [podPhase]: "Running" }, false],
    [{ [podPhase]: "Succeeded" }, true],
    [{ [podPhase]: "Succeeded", [checkpointCurrent]: "one" }, false],
    [{ [podPhase]: "Succeeded", [checkpointCurrent]: "one", [checkpointDone]: "true" }, true],
  ];
  for (const [annotations, expected] of rows) {
    it(`${JSON.stringify(annotations)}: ${expected}`, () => assert.equal(isFilled(claim({ annotations })), expected));
  }
});
