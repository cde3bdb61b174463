import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { ANNOTATIONS } from "../../../../controller/api/names.ts";
import { primeReadiness } from "../../../../controller/plan/prime/readiness.ts";
import type { Readiness } from "../../../../controller/plan/prime/readiness.ts";
import {
  CSI_CLASS,
  CSI_PROVISIONER,
  csiDriver,
  facts,
  LOCAL_CLASS,
  populatedClaim,
  storageClass,
  WAITING_CSI_CLASS,
} from "../../../support/observed-import.ts";

const NODE = { [ANNOTATIONS.selectedNode]: "node-2" };
const IMMEDIATE = { [ANNOTATIONS.immediateBind]: "" };
const READY: Readiness = { is: "ready" };
const ON_NODE: Readiness = { is: "ready", selectedNode: "node-2" };
const WAITING: Readiness = { is: "waiting" };

describe("primeReadiness, as the table of contract 6.1 has it", () => {
  const rows: readonly [string, Readonly<Record<string, string>>, Readiness][] = [
    [CSI_CLASS, {}, READY],
    [CSI_CLASS, IMMEDIATE, READY],
    [CSI_CLASS, NODE, READY],
    [CSI_CLASS, { ...NODE, ...IMMEDIATE }, READY],
    [WAITING_CSI_CLASS, {}, WAITING],
    [WAITING_CSI_CLASS, NODE, ON_NODE],
    [WAITING_CSI_CLASS, IMMEDIATE, READY],
    [WAITING_CSI_CLASS, { [ANNOTATIONS.immediateBind]: "true" }, READY],
    [WAITING_CSI_CLASS, { [ANNOTATIONS.immediateBind]: "false" }, READY],
    [WAITING_CSI_CLASS, { ...NODE, ...IMMEDIATE }, ON_NODE],
    [WAITING_CSI_CLASS, { [ANNOTATIONS.selectedNode]: "" }, WAITING],
  ];
  for (const [storageClassName, annotations, expected] of rows) {
    it(`${storageClassName}, ${JSON.stringify(annotations)}: ${expected.is}`, () => {
      assert.deepEqual(primeReadiness(populatedClaim({ annotations, spec: { storageClassName } }), facts()), expected);
    });
  }
});

describe("primeReadiness of classes", () => {
  const inTree = storageClass({ name: "old", provisioner: "kubernetes.io/gce-pd" });
  const cluster = facts({
    storageClasses: [...facts().storageClasses, inTree],
    csiDrivers: [csiDriver(CSI_PROVISIONER), csiDriver("pd.csi.storage.gke.io")],
  });

  it("waits while the claim has none", () => {
    const { storageClassName: _, ...spec } = populatedClaim().spec;
    assert.deepEqual(primeReadiness({ ...populatedClaim(), spec }, cluster), WAITING);
  });

  it("counts a provisioner of Kubernetes that was moved to a driver as the driver", () => {
    const annotations = { [ANNOTATIONS.migratedTo]: "pd.csi.storage.gke.io" };
    assert.deepEqual(
      primeReadiness(populatedClaim({ annotations, spec: { storageClassName: "old" } }), cluster),
      READY,
    );
  });

  const refusals: readonly [string, Readonly<Record<string, string>>, RegExp][] = [
    ["", {}, /asks for no storage class/],
    ["nowhere", {}, /^Storage class nowhere does not exist$/],
    ["old", {}, /kubernetes\.io\/gce-pd, which is a part of Kubernetes/],
    ["old", { [ANNOTATIONS.migratedTo]: "gone.example.org" }, /gone\.example\.org, for which there is no CSIDriver/],
    [LOCAL_CLASS, {}, /rancher\.io\/local-path, for which there is no CSIDriver: it would .* bind an empty volume/],
    [LOCAL_CLASS, NODE, /no CSIDriver/],
  ];
  for (const [storageClassName, annotations, expected] of refusals) {
    it(`refuses ${JSON.stringify(storageClassName)} with ${JSON.stringify(annotations)}`, () => {
      const readiness = primeReadiness(populatedClaim({ annotations, spec: { storageClassName } }), cluster);
      assert.match(readiness.is === "refused" ? readiness.why : readiness.is, expected);
    });
  }
});
