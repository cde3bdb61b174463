/**
 * Which CRDs are made, brought up to date, left alone, and refused.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { allCrds } from "../../controller/crds/all-crds.ts";
import { OWNER_LABEL, SCHEMA_ANNOTATION } from "../../controller/crds/definition.ts";
import type { CustomResourceDefinition } from "../../controller/crds/definition.ts";
import { ensureCrds } from "../../controller/ensure-crds.ts";
import type { CrdDecision, ObservedCrd } from "../../controller/ensure-crds.ts";

const wanted = allCrds();
const NAMES = wanted.map(({ metadata }) => metadata.name);

describe("ensureCrds", () => {
  it("makes all of them in an empty cluster, and waits until they are served", () => {
    assert.deepEqual(outline(ensureCrds(wanted, [])), { do: NAMES.map((name) => `create ${name}`), isReady: false });
    const unserved = wanted.map((crd) => ({ ...served(crd), status: { conditions: [] } }));
    assert.deepEqual(outline(ensureCrds(wanted, unserved)), { do: [], isReady: false });
    assert.deepEqual(outline(ensureCrds(wanted, wanted.map(served))), { do: [], isReady: true });
  });

  it("makes those that are missing", () => {
    const [first, ...others] = wanted.map(served);
    assert.deepEqual(outline(ensureCrds(wanted, others)), { do: [`create ${first?.metadata.name}`], isReady: false });
  });

  it("brings an older schema up to date, in the version that was seen", () => {
    for (const schema of ["0-abcdef012345", "1-abcdef012345", "", "no schema", "9999999999-00"]) {
      const decision = ensureCrds(wanted, withFirst({ annotations: { [SCHEMA_ANNOTATION]: schema } }));
      assert.deepEqual(outline(decision), { do: [`patch ${NAMES[0]}`], isReady: false }, schema);
      assert.ok(decision.kind === "accepted");
      const [action] = decision.actions;
      assert.ok(action?.do === "patch");
      assert.equal(action.uid, "uid");
      assert.equal(action.resourceVersion, "7");
      const { metadata, spec } = wanted[0] ?? assert.fail();
      assert.deepEqual(action.patch, { metadata: { annotations: metadata.annotations }, spec });
    }
  });

  it("leaves a newer schema alone", () => {
    const newer = withFirst({ annotations: { [SCHEMA_ANNOTATION]: "999999999-abcdef012345" } });
    assert.deepEqual(outline(ensureCrds(wanted, newer)), { do: [], isReady: true });
  });

  it("waits for one that is being deleted, and changes nothing on it", () => {
    const going = withFirst({ deletionTimestamp: "2026-08-01T00:00:00Z", annotations: {} });
    assert.deepEqual(outline(ensureCrds(wanted, going)), { do: [], isReady: false });
  });

  it("refuses those of another installation, by name and with a way out, and changes nothing", () => {
    for (const labels of [{}, { "operator.cdi.kubevirt.io": "" }, { [OWNER_LABEL]: "somebody" }]) {
      const decision = ensureCrds(wanted, withFirst({ labels }).slice(0, 1));
      assert.ok(decision.kind === "refused");
      assert.match(decision.sentence, /^datavolumes\.cdi\.kubevirt\.io belongs to another installation/);
      assert.match(decision.sentence, /kubectl label crd datavolumes\.cdi\.kubevirt\.io decant\.dev\/owner=decant$/);
    }
  });

  it("pays no attention to other CRDs", () => {
    const other = { apiVersion: "v1", kind: "CustomResourceDefinition", metadata: { name: "pours.example.org" } };
    assert.deepEqual(outline(ensureCrds(wanted, [other, ...wanted.map(served)])), { do: [], isReady: true });
  });
});

function served(crd: CustomResourceDefinition): ObservedCrd {
  const metadata = { ...crd.metadata, uid: "uid", resourceVersion: "7" };
  return { ...crd, metadata, status: { conditions: [{ type: "Established", status: "True" }] } };
}

/** All of them, the first one with this in its metadata. */
function withFirst(metadata: Partial<ObservedCrd["metadata"]>): ObservedCrd[] {
  return wanted.map(served).map((crd, index) => {
    return index === 0 ? { ...crd, metadata: { ...crd.metadata, ...metadata } } : crd;
  });
}

function outline(decision: CrdDecision): object {
  if (decision.kind === "refused") return decision;
  const names = decision.actions.map((action) => {
    if (action.do === "create") return `create ${action.object.metadata.name}`;
    return action.do === "patch" ? `patch ${action.object.name}` : action.do;
  });
  return { do: names, isReady: decision.isReady };
}
