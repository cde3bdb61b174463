/**
 * Labels and annotations of the target claim: each row of contract 3.5, for each way in which a claim is filled.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { DataVolume } from "../../../../controller/api/cdi.ts";
import type { ClaimSpec } from "../../../../controller/api/kube.ts";
import { targetClaim } from "../../../../controller/plan/target/target-claim.ts";
import type { Filling } from "../../../../controller/plan/target/target-claim.ts";
import { cdiConfig, dataVolume, facts, settings } from "../../../support/observed-import.ts";

const PREFIX = "cdi.kubevirt.io/";
const honoring = facts({ config: cdiConfig({ featureGates: ["HonorWaitForFirstConsumer"] }) });
const spec: ClaimSpec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };

/** On every claim. */
const USUAL = {
  [`${PREFIX}storage.pod.restarts`]: "0",
  [`${PREFIX}storage.contentType`]: "kubevirt",
  [`${PREFIX}storage.preallocation.requested`]: "false",
  [`${PREFIX}createdForDataVolume`]: "dv-uid",
};

function annotationsOf(made: DataVolume, filling: Filling, cluster = honoring): Record<string, string> | undefined {
  return targetClaim(made, spec, filling, cluster).metadata.annotations;
}

const POPULATOR: Filling = { by: "populator" };
const IMPORT: Filling = { by: "import" };

describe("the target's annotations", () => {
  it("through a populator", () => {
    assert.deepEqual(annotationsOf(dataVolume(), POPULATOR), { ...USUAL, [`${PREFIX}storage.usePopulator`]: "true" });
  });

  it("in place: what to import", () => {
    assert.deepEqual(annotationsOf(dataVolume(), IMPORT), {
      ...USUAL,
      [`${PREFIX}storage.usePopulator`]: "false",
      [`${PREFIX}storage.import.source`]: "http",
      [`${PREFIX}storage.import.endpoint`]: "http://images.example.org/fedora.qcow2",
    });
  });

  it("by others", () => {
    assert.deepEqual(annotationsOf(dataVolume(), { by: "others", usePopulator: true }), {
      ...USUAL,
      [`${PREFIX}storage.usePopulator`]: "true",
      [`${PREFIX}externalPopulation`]: "true",
    });
  });

  it("on a volume that is there", () => {
    assert.deepEqual(annotationsOf(dataVolume(), { by: "volume", volumes: ["a", "b"] }), {
      ...USUAL,
      [`${PREFIX}storage.usePopulator`]: "false",
      [`${PREFIX}storage.persistentVolumeList`]: '["a","b"]',
    });
  });

  it("what the spec says of the worker", () => {
    const made = dataVolume({
      spec: {
        source: { blank: {} },
        priorityClassName: "high",
        serviceAccountName: "robot",
        contentType: "archive",
        preallocation: true,
      },
    });
    assert.deepEqual(annotationsOf(made, POPULATOR), {
      ...USUAL,
      [`${PREFIX}storage.usePopulator`]: "true",
      [`${PREFIX}storage.contentType`]: "archive",
      [`${PREFIX}storage.preallocation.requested`]: "true",
      [`${PREFIX}storage.pod.priorityclassname`]: "high",
      [`${PREFIX}storage.pod.serviceAccountName`]: "robot",
    });
  });

  for (const [name, filling, cluster, own, wanted] of [
    ["the gate on", POPULATOR, honoring, undefined, undefined],
    ["the gate on, asked for", POPULATOR, honoring, "true", "true"],
    ["the gate off", POPULATOR, facts({ config: cdiConfig() }), undefined, ""],
    ["the gate off, asked for", POPULATOR, facts({ config: cdiConfig() }), "false", "false"],
    ["the gate off, in place", IMPORT, facts({ config: cdiConfig() }), undefined, undefined],
  ] as const) {
    it(`binding at once: ${name}`, () => {
      const immediate = `${PREFIX}storage.bind.immediate.requested`;
      const made = dataVolume({ annotations: own === undefined ? {} : { [immediate]: own } });
      assert.equal(annotationsOf(made, filling, cluster)?.[immediate], wanted);
    });
  }

  it("the DataVolume's own are copied", () => {
    const own = { mine: "1", [`${PREFIX}storage.pod.retainAfterCompletion`]: "true", "decant.dev/node-selector": "{}" };
    const found = annotationsOf(dataVolume({ annotations: own }), POPULATOR);
    assert.deepEqual(found, { ...own, ...USUAL, [`${PREFIX}storage.usePopulator`]: "true" });
  });

  it("what only a controller writes is not", () => {
    const annotations = {
      [`${PREFIX}storage.pod.phase`]: "Succeeded",
      [`${PREFIX}storage.populatedFor`]: "fedora",
      [`${PREFIX}storage.populator.pvcPrime`]: "prime-x",
      [`${PREFIX}storage.import.fatalError`]: "true",
      [`${PREFIX}externalPopulation`]: "true",
      "decant.dev/terminal": "{}",
      "kubectl.kubernetes.io/last-applied-configuration": "{}",
      [`${PREFIX}storage.pod.restarts`]: "7",
    };
    const found = annotationsOf(dataVolume({ annotations }), POPULATOR);
    assert.deepEqual(found, { ...USUAL, [`${PREFIX}storage.usePopulator`]: "true" });
  });
});

describe("the target's labels", () => {
  const usual = {
    app: "containerized-data-importer",
    "alerts.k8s.io/KubePersistentVolumeFillingUp": "disabled",
    "app.kubernetes.io/managed-by": "cdi-controller",
    "app.kubernetes.io/component": "storage",
  };
  const labelsFor = (labels: Record<string, string>, more: ClaimSpec = {}, cluster = honoring) => {
    return targetClaim(dataVolume({ labels }), { ...spec, ...more }, POPULATOR, cluster).metadata.labels;
  };

  it("on a filesystem", () => {
    assert.deepEqual(labelsFor({}), usual);
  });

  it("on a device there is nothing that fills up", () => {
    const { "alerts.k8s.io/KubePersistentVolumeFillingUp": _, ...rest } = usual;
    assert.deepEqual(labelsFor({}, { volumeMode: "Block" }), rest);
  });

  it("the DataVolume's own win", () => {
    const own = { app: "mine", "app.kubernetes.io/component": "mine", vm: "a" };
    assert.deepEqual(labelsFor(own), { ...usual, ...own });
  });

  it("what an installer gave", () => {
    const recommendedLabels = { "app.kubernetes.io/part-of": "virt", "app.kubernetes.io/version": "1" };
    const cluster = { ...honoring, settings: settings({ recommendedLabels }) };
    assert.deepEqual(labelsFor({}, {}, cluster), { ...usual, ...recommendedLabels });
  });
});

describe("the target claim", () => {
  it("through a populator names its source", () => {
    const made = targetClaim(dataVolume(), spec, POPULATOR, honoring);
    const dataSourceRef = {
      apiGroup: "cdi.kubevirt.io",
      kind: "VolumeImportSource",
      name: "volume-import-source-dv-uid",
    };
    assert.deepEqual(made.spec, { ...spec, dataSourceRef });
    assert.equal(made.metadata.namespace, "images");
    assert.equal(made.metadata.ownerReferences?.[0]?.uid, "dv-uid");
  });

  it("in place is what was rendered", () => {
    assert.deepEqual(targetClaim(dataVolume(), spec, IMPORT, honoring).spec, spec);
  });
});
