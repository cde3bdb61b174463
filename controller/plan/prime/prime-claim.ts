/**
 * The prime as it is created (contract 4.4): a claim beside the target with the same wishes but no data source, so that the
 * provisioner makes a volume for it. What the worker is to import is in its annotations.
 *
 * It is marked as binding at once: its worker pod may be its first consumer.
 */
import type { VolumeImportSource } from "../../api/cdi.ts";
import type { Claim, StringMap } from "../../api/kube.ts";
import { ANNOTATIONS, APP, COMPONENT, LABELS, MANAGED_BY, primeName, VOLUME_IMPORT_SOURCE } from "../../api/names.ts";
import { controllerReference } from "../../api/ownership.ts";
import { preallocationFor } from "../config-values.ts";
import { annotationsOf } from "../draft.ts";
import { importAnnotations } from "../import-annotations.ts";
import type { ClusterFacts } from "../observed.ts";

/** Of the target, for the worker pod (contract 5.5); undefined: not there unless asked for. Meshes would hold the pod open. */
const POD_ANNOTATIONS: Readonly<Record<string, string | undefined>> = {
  "k8s.v1.cni.cncf.io/networks": undefined,
  "v1.multus-cni.io/default-network": undefined,
  "sidecar.istio.io/inject": "false",
  "linkerd.io/inject": "disabled",
  [ANNOTATIONS.podPriorityClass]: undefined,
  [ANNOTATIONS.podServiceAccount]: undefined,
  [ANNOTATIONS.podRetain]: undefined,
  [ANNOTATIONS.podVddkExtraArgs]: undefined,
  [ANNOTATIONS.placementNodeSelector]: undefined,
  [ANNOTATIONS.placementTolerations]: undefined,
  [ANNOTATIONS.placementAffinity]: undefined,
};

/**
 * @param target as the API server has it
 * @param selectedNode where its volume is to be; undefined: anywhere, or where the worker is
 * @returns undefined where the source says nothing that can be imported
 */
export function primeClaim(
  target: Claim,
  source: VolumeImportSource,
  cluster: ClusterFacts,
  selectedNode: string | undefined,
): Claim | undefined {
  const wanted = importAnnotations({
    ...source.spec,
    source: source.spec.source,
    contentType: source.spec.contentType,
    preallocation: preallocationFor(cluster, source.spec.preallocation),
  });
  if (wanted === undefined) return undefined;
  const { namespace, uid = "" } = target.metadata;
  const { accessModes, resources, storageClassName, volumeMode, volumeAttributesClassName } = target.spec;
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: {
      name: primeName(uid),
      ...(namespace === undefined ? {} : { namespace }),
      labels: {
        ...cluster.settings.recommendedLabels,
        [LABELS.app]: APP,
        [LABELS.component]: COMPONENT,
        [LABELS.managedBy]: MANAGED_BY,
        [LABELS.excludeFromBackup]: "true",
      },
      annotations: {
        ...podAnnotations(target),
        ...wanted,
        [ANNOTATIONS.immediateBind]: "",
        [ANNOTATIONS.populatorKind]: VOLUME_IMPORT_SOURCE,
        ...(selectedNode === undefined ? {} : { [ANNOTATIONS.selectedNode]: selectedNode }),
      },
      ownerReferences: [controllerReference(target)],
    },
    spec: {
      ...(accessModes === undefined ? {} : { accessModes }),
      ...(resources === undefined ? {} : { resources }),
      ...(storageClassName === undefined ? {} : { storageClassName }),
      ...(volumeMode === undefined ? {} : { volumeMode }),
      ...(volumeAttributesClassName === undefined ? {} : { volumeAttributesClassName }),
    },
  };
}

function podAnnotations(target: Claim): StringMap {
  const asked = annotationsOf(target);
  const entries = Object.entries(POD_ANNOTATIONS).map(([name, usual]) => [name, asked[name] ?? usual] as const);
  return Object.fromEntries(entries.filter((entry): entry is readonly [string, string] => entry[1] !== undefined));
}
