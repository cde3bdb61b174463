/**
 * The target claim of a DataVolume: its rendered spec, and the labels and annotations of contract 3.5 and 5.1.
 */
import type { DataVolume } from "../../api/cdi.ts";
import type { Claim, ClaimSpec, StringMap } from "../../api/kube.ts";
import {
  ANNOTATIONS,
  APP,
  COMPONENT,
  GROUP,
  importSourceName,
  LABELS,
  LAST_APPLIED,
  MANAGED_BY,
  VOLUME_IMPORT_SOURCE,
} from "../../api/names.ts";
import { controllerReference } from "../../api/ownership.ts";
import { preallocationFor } from "../config-values.ts";
import { defined } from "../defined.ts";
import { annotationsOf } from "../draft.ts";
import { importAnnotations } from "../import-annotations.ts";
import type { ClusterFacts } from "../observed.ts";
import { honorsWaitForFirstConsumer } from "../storage-class.ts";
import { contentTypeOf } from "./render-claim.ts";

/**
 * How the claim gets its content: through a populator, in place, by whoever understands the reference in its spec, or it has
 * it already, on one of these volumes.
 */
export type Filling =
  | { readonly by: "populator" }
  | { readonly by: "import" }
  | { readonly by: "others"; readonly usePopulator: boolean }
  | { readonly by: "volume"; readonly volumes: readonly string[] };

/** What this controller writes about a claim while it is filled. On a DataVolume it would be somebody's copy of an old one. */
const STATE: ReadonlySet<string> = new Set<string>([
  // Describes another object, and would mislead whoever applies the claim.
  LAST_APPLIED,
  ANNOTATIONS.createdForDataVolume,
  ANNOTATIONS.volumeList,
  ANNOTATIONS.externalPopulation,
  ANNOTATIONS.populatorKind,
  ANNOTATIONS.populatorProgress,
  ANNOTATIONS.prime,
  ANNOTATIONS.importPodName,
  ANNOTATIONS.importRequiresScratch,
  ANNOTATIONS.importRequiresDirectIo,
  ANNOTATIONS.importFatalError,
  ANNOTATIONS.podPhase,
  ANNOTATIONS.podReady,
  ANNOTATIONS.podSchedulable,
  ANNOTATIONS.preallocation,
  ANNOTATIONS.checkpointDone,
  ANNOTATIONS.running,
  ANNOTATIONS.runningMessage,
  ANNOTATIONS.runningReason,
  ANNOTATIONS.bound,
  ANNOTATIONS.boundMessage,
  ANNOTATIONS.boundReason,
  ANNOTATIONS.originalReclaimPolicy,
  ANNOTATIONS.retried,
  ANNOTATIONS.terminal,
]);

export function usesPopulator(filling: Filling): boolean {
  return filling.by === "populator" || (filling.by === "others" && filling.usePopulator);
}

export function targetClaim(dataVolume: DataVolume, spec: ClaimSpec, filling: Filling, facts: ClusterFacts): Claim {
  const { name, namespace } = dataVolume.metadata;
  const owner = controllerReference(dataVolume);
  const dataSourceRef = { apiGroup: GROUP, kind: VOLUME_IMPORT_SOURCE, name: importSourceName(owner.uid) };
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: {
      name,
      ...defined({ namespace }),
      labels: labelsFor(dataVolume, spec, facts),
      annotations: annotationsFor(dataVolume, owner.uid, filling, facts),
      ownerReferences: [owner],
    },
    spec: filling.by === "populator" ? { ...spec, dataSourceRef } : spec,
  };
}

/** The user's labels win over all but none is taken away. */
function labelsFor(dataVolume: DataVolume, { volumeMode }: ClaimSpec, facts: ClusterFacts): StringMap {
  return {
    [LABELS.app]: APP,
    ...(volumeMode === "Block" ? {} : { [LABELS.fillingUp]: "disabled" }),
    [LABELS.managedBy]: MANAGED_BY,
    [LABELS.component]: COMPONENT,
    ...facts.settings.recommendedLabels,
    ...dataVolume.metadata.labels,
  };
}

function annotationsFor(dataVolume: DataVolume, uid: string, filling: Filling, facts: ClusterFacts): StringMap {
  const { priorityClassName, serviceAccountName } = dataVolume.spec;
  const ofUser = Object.entries(annotationsOf(dataVolume)).filter(([name]) => !STATE.has(name));
  // Copied when it has become true.
  const { [ANNOTATIONS.populatedFor]: _, ...copied } = Object.fromEntries(ofUser);
  return {
    ...copied,
    ...fillingAnnotations(dataVolume, filling, facts),
    [ANNOTATIONS.usePopulator]: String(usesPopulator(filling)),
    [ANNOTATIONS.podRestarts]: "0",
    [ANNOTATIONS.contentType]: contentTypeOf(dataVolume),
    [ANNOTATIONS.preallocationRequested]: String(preallocationFor(facts, dataVolume.spec.preallocation)),
    [ANNOTATIONS.createdForDataVolume]: uid,
    ...(priorityClassName ? { [ANNOTATIONS.podPriorityClass]: priorityClassName } : {}),
    ...(serviceAccountName ? { [ANNOTATIONS.podServiceAccount]: serviceAccountName } : {}),
  };
}

function fillingAnnotations(dataVolume: DataVolume, filling: Filling, facts: ClusterFacts): StringMap {
  if (filling.by === "others") return { [ANNOTATIONS.externalPopulation]: "true" };
  if (filling.by === "volume") return { [ANNOTATIONS.volumeList]: JSON.stringify(filling.volumes) };
  if (filling.by === "populator") {
    if (honorsWaitForFirstConsumer(facts)) return {};
    return { [ANNOTATIONS.immediateBind]: annotationsOf(dataVolume)[ANNOTATIONS.immediateBind] ?? "" };
  }
  const { source, checkpoints, finalCheckpoint, preallocation } = dataVolume.spec;
  const request = {
    source,
    contentType: contentTypeOf(dataVolume),
    preallocation: preallocationFor(facts, preallocation),
    checkpoints,
    finalCheckpoint,
  };
  return importAnnotations(request) ?? {};
}
