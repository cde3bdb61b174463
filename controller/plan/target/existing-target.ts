/**
 * A DataVolume and the claim that is already there: whose it is (contract 2.1), what became of a volume that was expected
 * (2.7), and what is left to do once it is filled.
 */
import type { DataVolume } from "../../api/cdi.ts";
import type { Claim } from "../../api/kube.ts";
import { ANNOTATIONS, importSourceName, INSTANCETYPE_LABELS } from "../../api/names.ts";
import { controllerOf, controllerReference, isControlledBy } from "../../api/ownership.ts";
import { defined } from "../defined.ts";
import { annotationsOf } from "../draft.ts";
import type { ImportDraft } from "../draft.ts";
import { isPopulatedFor, requiresWork } from "./adoption.ts";
import { importSourceOf } from "./import-source.ts";
import { listedVolumes, wasProvisionedFor } from "./static-volumes.ts";

export function planExistingTarget(draft: ImportDraft, dataVolume: DataVolume, target: Claim): void {
  if (target.metadata.deletionTimestamp !== undefined) {
    draft.problem("ErrResourceMarkedForDeletion", `Resource "${target.metadata.name}" marked for deletion`);
    return;
  }
  if (!isControlledBy(target, dataVolume)) {
    adopt(draft, dataVolume, target);
    return;
  }
  if (listedVolumes(target) !== undefined) {
    awaitVolume(draft, dataVolume, target);
    return;
  }
  copyLate(draft, dataVolume, target);
  keepSource(draft, dataVolume, target);
}

function adopt(draft: ImportDraft, dataVolume: DataVolume, target: Claim): void {
  const { name, ownerReferences = [] } = target.metadata;
  const other = controllerOf(target);
  if (requiresWork(target, dataVolume, draft.now.cluster)) {
    draft.problem("ErrResourceExists", `Resource "${name}" already exists and is not managed by DataVolume`);
  } else if (other !== undefined) {
    const whose = `already exists and is managed by ${other.kind} ${other.name}`;
    draft.problem("ErrResourceExists", `Resource "${name}" ${whose}`);
  } else {
    const owners = [...ownerReferences, controllerReference(dataVolume)];
    draft.patch(target, { metadata: { ownerReferences: owners } }, { checked: true });
  }
}

/** The claim was made for volumes that were there: bound to one of them it is done; nothing is ever written to it. */
function awaitVolume(draft: ImportDraft, dataVolume: DataVolume, target: Claim): void {
  const { volumeName } = target.spec;
  if (target.status?.phase !== "Bound" || volumeName === undefined) return;
  if (listedVolumes(target)?.includes(volumeName) === true) {
    draft.annotate(target, {
      [ANNOTATIONS.volumeList]: undefined,
      [ANNOTATIONS.populatedFor]: dataVolume.metadata.name,
    });
    remember(draft, dataVolume, target);
  } else if (wasProvisionedFor(target, draft.now.volume)) {
    // An empty one that came instead; the next claim may have better luck.
    draft.delete(target);
  } else {
    const message = `PVC ${target.metadata.name} is bound to volume ${volumeName}, which is none of those that were expected`;
    draft.problem("UnexpectedVolume", message);
  }
}

/** What is written only when the claim is filled, on either side. */
function copyLate(draft: ImportDraft, dataVolume: DataVolume, target: Claim): void {
  if (isPopulatedFor(target, dataVolume)) remember(draft, dataVolume, target);
  const populatedFor = annotationsOf(dataVolume)[ANNOTATIONS.populatedFor];
  const hasSucceeded = dataVolume.status?.phase === "Succeeded";
  if (hasSucceeded && populatedFor !== undefined) {
    draft.annotate(target, {
      [ANNOTATIONS.populatedFor]: annotationsOf(target)[ANNOTATIONS.populatedFor] ?? populatedFor,
    });
  }
  const labels = dataVolume.metadata.labels ?? {};
  if (
    dataVolume.spec.source?.registry === undefined ||
    INSTANCETYPE_LABELS.some((name) => labels[name] !== undefined)
  ) {
    return;
  }
  if (annotationsOf(target)[ANNOTATIONS.podPhase] !== "Succeeded") return;
  const found = INSTANCETYPE_LABELS.map((name) => [name, target.metadata.labels?.[name]] as const);
  draft.label(dataVolume, Object.fromEntries(found.filter(([, value]) => value !== undefined)));
}

/** So that the claim is not made, and filled, again where only the DataVolume was restored. */
function remember(draft: ImportDraft, dataVolume: DataVolume, target: Claim): void {
  if (target.status?.phase === "Bound") {
    draft.annotate(dataVolume, { [ANNOTATIONS.prePopulated]: target.metadata.name });
  }
}

/** There until the DataVolume has succeeded; in between somebody may have deleted it. */
function keepSource(draft: ImportDraft, dataVolume: DataVolume, target: Claim): void {
  const { source: found, cluster } = draft.now;
  const name = importSourceName(dataVolume.metadata.uid ?? "");
  const isDone =
    annotationsOf(target)[ANNOTATIONS.podPhase] === "Succeeded" && dataVolume.status?.phase === "Succeeded";
  if (isDone || !requiresWork(target, dataVolume, cluster)) {
    const isOurs = found !== undefined && isControlledBy(found, dataVolume);
    if (isOurs && found.metadata.deletionTimestamp === undefined) draft.delete(found);
    return;
  }
  const { source } = dataVolume.spec;
  if (source === undefined || target.spec.dataSourceRef?.name !== name) return;
  const wanted = importSourceOf(dataVolume, source, cluster);
  if (found === undefined) {
    draft.create(wanted, "source");
  } else if (found.metadata.name === name) {
    // All else is immutable.
    const { checkpoints, finalCheckpoint } = wanted.spec;
    draft.patch(found, { spec: defined({ checkpoints, finalCheckpoint }) });
  }
}
