import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Claim } from "../../../../controller/api/kube.ts";
import { ANNOTATIONS } from "../../../../controller/api/names.ts";
import { scratchClaim } from "../../../../controller/plan/worker/scratch-claim.ts";
import { cdiConfig, claim, CSI_CLASS, facts, LOCAL_CLASS, NAMESPACE } from "../../../support/observed-import.ts";
import { populatorPair, workerOf } from "../../../support/worker-plan.ts";

function sizeFor(spec: Claim["spec"]): string | undefined {
  const filled = claim({ spec });
  return scratchClaim(filled, workerOf(filled), false, facts()).spec.resources?.requests?.["storage"];
}

function request(storage: string): Claim["spec"] {
  return { resources: { requests: { storage } } };
}

describe("scratch space", () => {
  it("is a claim of its worker pod", () => {
    const { prime } = populatorPair({
      annotations: {
        [ANNOTATIONS.selectedNode]: "node-2",
        "kubevirt.io/note": "kept",
        "snapshot.kubevirt.io/note": "kept",
        "example.org/note": "left",
      },
    });
    const pod = workerOf(prime);
    assert.deepEqual(scratchClaim(prime, pod, true, facts()), {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: {
        name: "prime-target-uid-scratch",
        namespace: NAMESPACE,
        labels: {
          app: "containerized-data-importer",
          "app.kubernetes.io/component": "storage",
          "app.kubernetes.io/managed-by": "cdi-controller",
          "velero.io/exclude-from-backup": "true",
        },
        annotations: {
          "kubevirt.io/note": "kept",
          "snapshot.kubevirt.io/note": "kept",
          [ANNOTATIONS.selectedNode]: "node-2",
        },
        ownerReferences: [
          {
            apiVersion: "v1",
            kind: "Pod",
            name: "importer-prime-target-uid",
            uid: "pod-uid",
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      },
      spec: {
        accessModes: ["ReadWriteOnce"],
        volumeMode: "Filesystem",
        storageClassName: CSI_CLASS,
        resources: { requests: { storage: "1073741824" } },
      },
    });
  });

  it("is of the class that CDIConfig names, and of no node where its claim is the user's", () => {
    const filled = claim({ annotations: { [ANNOTATIONS.selectedNode]: "node-2" } });
    const cluster = facts({ config: cdiConfig({}, { scratchSpaceStorageClass: LOCAL_CLASS }) });
    const scratch = scratchClaim(filled, workerOf(filled), false, cluster);
    assert.equal(scratch.spec.storageClassName, LOCAL_CLASS);
    assert.deepEqual(scratch.metadata.annotations, {});
    const unset = facts({ config: cdiConfig({}, { scratchSpaceStorageClass: "" }) });
    assert.equal(scratchClaim(filled, workerOf(filled), false, unset).spec.storageClassName, CSI_CLASS);
  });

  it("has room for the largest disk of its claim", () => {
    // The contract's golden numbers (3.4).
    assert.equal(sizeFor(request("1138166334")), "1138753536");
    assert.equal(sizeFor({ ...request("1Gi"), volumeMode: "Block" }), "1138753536");
    assert.equal(sizeFor(request("1Gi")), "1073741824");
  });

  it("has a size whatever its claim says", () => {
    assert.equal(sizeFor(request("many")), "1048576");
    assert.equal(sizeFor({ resources: {} }), "1048576");
  });
});
