/**
 * Scratch space (contract 5.9): a claim for one worker pod that asked for it. The pod owns it, so that it goes with the pod.
 * It holds the image as it is stored, which is taken to be no larger than the disk.
 */
import { quantityInBytes } from "../../../importer/quantity.ts";
import { requiredSpace, usableSpace } from "../../../importer/target-size.ts";
import type { Claim, Pod, StringMap } from "../../api/kube.ts";
import { ANNOTATIONS, GROUP } from "../../api/names.ts";
import { controllerReference } from "../../api/ownership.ts";
import { overheadOf } from "../config-values.ts";
import { defined } from "../defined.ts";
import { annotationsOf } from "../draft.ts";
import type { ClusterFacts } from "../observed.ts";
import { passingLabels } from "../own-labels.ts";
import { scratchName } from "./object-name.ts";

const MIB = 1024 * 1024;

/**
 * @param pod the worker that mounts it; it has a UID
 * @param isPrime the claim is a temporary one, whose node was chosen by whoever uses its target
 */
export function scratchClaim(claim: Claim, pod: Pod, isPrime: boolean, facts: ClusterFacts): Claim {
  const storageClassName = facts.config?.status?.scratchSpaceStorageClass || claim.spec.storageClassName;
  const node = isPrime ? annotationsOf(claim)[ANNOTATIONS.selectedNode] : undefined;
  const spec = {
    accessModes: ["ReadWriteOnce"],
    volumeMode: "Filesystem",
    ...defined({ storageClassName }),
  } as const;
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: {
      name: scratchName(claim.metadata.name),
      ...defined({ namespace: claim.metadata.namespace }),
      labels: passingLabels(facts.settings),
      annotations: {
        ...kubevirtAnnotations(claim),
        ...(node === undefined ? {} : { [ANNOTATIONS.selectedNode]: node }),
      },
      ownerReferences: [controllerReference(pod)],
    },
    spec: { ...spec, resources: { requests: { storage: String(scratchSize(claim, spec, facts)) } } },
  };
}

/** In bytes: a filesystem on which the largest disk of the claim has room (contract 3.4). */
function scratchSize(claim: Claim, spec: Claim["spec"], facts: ClusterFacts): number {
  const request = quantityInBytes(claim.spec.resources?.requests?.["storage"] ?? "") ?? 0;
  const disk = usableSpace(Number(overheadOf(facts, claim.spec)), request);
  const required = requiredSpace(Number(overheadOf(facts, spec)), disk);
  return Math.max(1, Math.ceil(required / MIB)) * MIB;
}

function kubevirtAnnotations(claim: Claim): StringMap {
  const entries = Object.entries(annotationsOf(claim));
  return Object.fromEntries(entries.filter(([name]) => name.includes("kubevirt.io/") && !name.includes(`${GROUP}/`)));
}
