/**
 * The prime as it is created (contract 4.4): a claim beside the target with the same wishes but no data source, so that the
 * provisioner makes a volume for it. What the worker is to import is in its annotations.
 *
 * It is marked as binding at once: its worker pod may be its first consumer.
 */
import type { VolumeImportSource } from "../../api/cdi.ts";
import type { Claim, StringMap } from "../../api/kube.ts";
import { ANNOTATIONS, primeName, VOLUME_IMPORT_SOURCE } from "../../api/names.ts";
import { controllerReference } from "../../api/ownership.ts";
import { preallocationFor } from "../config-values.ts";
import { defined } from "../defined.ts";
import { annotationsOf } from "../draft.ts";
import { importAnnotations } from "../import-annotations.ts";
import type { ClusterFacts } from "../observed.ts";
import { passingLabels } from "../own-labels.ts";
import { podAnnotations } from "../worker/pod-annotations.ts";

/** Of the target, beside those that its worker pod takes over: how its worker is to be made. */
const COPIED = [ANNOTATIONS.podRetain, ANNOTATIONS.podVddkExtraArgs];

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
      ...defined({ namespace }),
      labels: passingLabels(cluster.settings),
      annotations: {
        ...podAnnotations(target),
        ...copied(target),
        ...wanted,
        [ANNOTATIONS.immediateBind]: "",
        [ANNOTATIONS.populatorKind]: VOLUME_IMPORT_SOURCE,
        ...(selectedNode === undefined ? {} : { [ANNOTATIONS.selectedNode]: selectedNode }),
      },
      ownerReferences: [controllerReference(target)],
    },
    spec: defined({ accessModes, resources, storageClassName, volumeMode, volumeAttributesClassName }),
  };
}

function copied(target: Claim): StringMap {
  const entries = COPIED.map((name) => [name, annotationsOf(target)[name]] as const);
  return Object.fromEntries(
    entries.filter((entry): entry is readonly [(typeof COPIED)[number], string] => entry[1] !== undefined),
  );
}
