import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { ANNOTATIONS } from "../../../../controller/api/names.ts";
import { primeClaim } from "../../../../controller/plan/prime/prime-claim.ts";
import {
  cdiConfig,
  CSI_CLASS,
  facts,
  importSource,
  NAMESPACE,
  populatedClaim,
  settings,
} from "../../../support/observed-import.ts";

describe("primeClaim", () => {
  it("is the target without its data source, owned by it", () => {
    const target = populatedClaim({
      labels: { app: "mine", "instancetype.kubevirt.io/default-preference": "fedora" },
      annotations: { mine: "1" },
      spec: { volumeMode: "Block", volumeAttributesClassName: "fast", selector: { matchLabels: { disk: "ssd" } } },
    });
    assert.deepEqual(primeClaim(target, importSource(), facts(), undefined), {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: {
        name: "prime-target-uid",
        namespace: NAMESPACE,
        labels: {
          app: "containerized-data-importer",
          "app.kubernetes.io/component": "storage",
          "app.kubernetes.io/managed-by": "cdi-controller",
          "velero.io/exclude-from-backup": "true",
        },
        annotations: {
          "sidecar.istio.io/inject": "false",
          "linkerd.io/inject": "disabled",
          "cdi.kubevirt.io/storage.bind.immediate.requested": "",
          "cdi.kubevirt.io/storage.populator.kind": "VolumeImportSource",
          "cdi.kubevirt.io/storage.contentType": "kubevirt",
          "cdi.kubevirt.io/storage.preallocation.requested": "false",
          "cdi.kubevirt.io/storage.import.source": "http",
          "cdi.kubevirt.io/storage.import.endpoint": "http://images.example.org/fedora.qcow2",
        },
        ownerReferences: [
          {
            apiVersion: "v1",
            kind: "PersistentVolumeClaim",
            name: "fedora",
            uid: "target-uid",
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      },
      spec: {
        accessModes: ["ReadWriteOnce"],
        resources: { requests: { storage: "1Gi" } },
        storageClassName: CSI_CLASS,
        volumeMode: "Block",
        volumeAttributesClassName: "fast",
      },
    });
  });

  it("takes over what concerns the worker pod, and the node", () => {
    const annotations = {
      "k8s.v1.cni.cncf.io/networks": "storage-net",
      "v1.multus-cni.io/default-network": "other-net",
      "sidecar.istio.io/inject": "true",
      "linkerd.io/inject": "enabled",
      [ANNOTATIONS.podPriorityClass]: "high",
      [ANNOTATIONS.podServiceAccount]: "importer",
      [ANNOTATIONS.podRetain]: "true",
      [ANNOTATIONS.podVddkExtraArgs]: "arguments",
    };
    const prime = primeClaim(populatedClaim({ annotations }), importSource(), facts(), "node-2");
    const found = prime?.metadata.annotations ?? {};
    assert.deepEqual({ ...found, ...annotations, [ANNOTATIONS.selectedNode]: "node-2" }, found);
  });

  it("does not take over the target's own node or binding", () => {
    const annotations = { [ANNOTATIONS.selectedNode]: "node-1", [ANNOTATIONS.podPhase]: "Succeeded" };
    const prime = primeClaim(populatedClaim({ annotations }), importSource(), facts(), undefined);
    assert.equal(prime?.metadata.annotations?.[ANNOTATIONS.selectedNode], undefined);
    assert.equal(prime?.metadata.annotations?.[ANNOTATIONS.podPhase], undefined);
  });

  const preallocations: readonly [boolean | undefined, boolean | undefined, string][] = [
    [undefined, undefined, "false"],
    [undefined, true, "true"],
    [false, true, "false"],
    [true, false, "true"],
  ];
  for (const [asked, usual, expected] of preallocations) {
    it(`preallocation: asked ${asked}, in CDIConfig ${usual}: ${expected}`, () => {
      const config = cdiConfig({}, usual === undefined ? {} : { preallocation: usual });
      const source = importSource({ spec: asked === undefined ? {} : { preallocation: asked } });
      const prime = primeClaim(populatedClaim(), source, facts({ config }), undefined);
      assert.equal(prime?.metadata.annotations?.[ANNOTATIONS.preallocationRequested], expected);
    });
  }

  it("has the installer's labels, and its own above them", () => {
    const recommendedLabels = { "app.kubernetes.io/part-of": "virtualization", app: "other" };
    const prime = primeClaim(
      populatedClaim(),
      importSource(),
      facts({ settings: settings({ recommendedLabels }) }),
      undefined,
    );
    assert.equal(prime?.metadata.labels?.["app.kubernetes.io/part-of"], "virtualization");
    assert.equal(prime?.metadata.labels?.["app"], "containerized-data-importer");
  });

  it("is none where the source says nothing", () => {
    assert.equal(primeClaim(populatedClaim(), importSource({ spec: { source: {} } }), facts(), undefined), undefined);
  });
});
