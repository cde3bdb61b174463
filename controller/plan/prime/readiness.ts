/**
 * Whether a target claim's prime can be made (contract 4.3 step 5, and the table of 6.1). What a user can mend is refused in
 * words; what comes by itself is waited for in silence.
 *
 * Stricter than CDI in one point: a class whose provisioner has no CSIDriver is refused. Such provisioners do not know what a
 * data source is: they bind an empty volume straight to the target, and a guest would boot it.
 */
import type { Claim, StorageClass } from "../../api/kube.ts";
import { ANNOTATIONS } from "../../api/names.ts";
import { annotationsOf } from "../draft.ts";
import type { ClusterFacts } from "../observed.ts";
import { bindsImmediately, findClass, waitsForFirstConsumer } from "../storage-class.ts";

export type Readiness =
  /** @see selectedNode of the prime: its volume is made there, and needs no consumer */
  | { readonly is: "ready"; readonly selectedNode?: string }
  /** For a class or for a node. */
  | { readonly is: "waiting" }
  /** With a sentence for the user. */
  | { readonly is: "refused"; readonly why: string };

const IN_TREE_PREFIX = "kubernetes.io/";

export function primeReadiness(target: Claim, cluster: ClusterFacts): Readiness {
  const { storageClassName } = target.spec;
  // Kubernetes gives it the default class as soon as there is one.
  if (storageClassName === undefined) return { is: "waiting" };
  if (storageClassName === "") {
    return {
      is: "refused",
      why: "The claim asks for no storage class, so that nothing can make the volume to import into",
    };
  }
  const found = findClass(cluster, storageClassName);
  if (found === undefined) return { is: "refused", why: `Storage class ${storageClassName} does not exist` };
  const driver = driverOf(target, found);
  if (driver === undefined) {
    return {
      is: "refused",
      why: `Storage class ${storageClassName} is of ${found.provisioner}, which is a part of Kubernetes and takes no data source`,
    };
  }
  if (!cluster.csiDrivers.some(({ metadata }) => metadata.name === driver)) {
    return {
      is: "refused",
      why:
        `Storage class ${storageClassName} is of ${driver}, for which there is no CSIDriver: ` +
        "it would ignore the data source and bind an empty volume",
    };
  }
  if (!waitsForFirstConsumer(found)) return { is: "ready" };
  const node = annotationsOf(target)[ANNOTATIONS.selectedNode];
  if (node !== undefined && node !== "") return { is: "ready", selectedNode: node };
  return bindsImmediately(target) ? { is: "ready" } : { is: "waiting" };
}

/** Who makes the volume; undefined for a provisioner of Kubernetes' own that was not moved to a CSI driver. */
function driverOf(target: Claim, { provisioner }: StorageClass): string | undefined {
  if (!provisioner.startsWith(IN_TREE_PREFIX)) return provisioner;
  return annotationsOf(target)[ANNOTATIONS.migratedTo];
}
