/**
 * An import as its DataVolume's status sees it: what phases, conditions and events are computed from. It looks at the objects
 * as the earlier steps of the pass leave them, so that the end of a worker shows in one patch.
 */
import type { DataVolume, DataVolumeStatus } from "../../api/cdi.ts";
import type { Claim, StringMap } from "../../api/kube.ts";
import { ANNOTATIONS } from "../../api/names.ts";
import { isControlledBy } from "../../api/ownership.ts";
import { claimToFill, fillPath } from "../claim-to-fill.ts";
import type { FillPath } from "../claim-to-fill.ts";
import { annotationsOf } from "../draft.ts";
import type { Problem } from "../draft.ts";
import type { ObservedImport } from "../observed.ts";
import { requiresWork } from "../target/adoption.ts";

export interface ImportView {
  readonly now: ObservedImport;
  readonly dataVolume: DataVolume;
  /** As it is in the cluster; empty where there is none yet. */
  readonly before: DataVolumeStatus;
  readonly problem: Problem | undefined;
  /** The claim that the DataVolume controls. A foreign one of its name is none. */
  readonly claim: Claim | undefined;
  readonly annotations: StringMap;
  /** Undefined without a claim; one that was just made is Pending. */
  readonly claimPhase: string | undefined;
  readonly path: FillPath;
  /** The claim is filled by way of a prime, by us or by another populator. */
  readonly usesPopulator: boolean;
  /** The claim came with its data: nothing has to be imported. */
  readonly isPrePopulated: boolean;
  /** Somebody else fills the claim, as its own data source says. */
  readonly isExternal: boolean;
  /** A worker was made, or is known by name, and the claim that it fills is bound. */
  readonly isScheduled: boolean;
  /** The last worker ended in a way that no restart mends. */
  readonly isTerminal: boolean;
}

export function viewImport(now: ObservedImport, dataVolume: DataVolume, problem: Problem | undefined): ImportView {
  const claim = now.target !== undefined && isControlledBy(now.target, dataVolume) ? now.target : undefined;
  const annotations = annotationsOf(claim);
  const path = claim === undefined ? "none" : fillPath(claim);
  const filled = claim === undefined ? undefined : claimToFill(now);
  const filledAnnotations = annotationsOf(filled);
  return {
    now,
    dataVolume,
    before: dataVolume.status ?? {},
    problem,
    claim,
    annotations,
    claimPhase: claim === undefined ? undefined : (claim.status?.phase ?? "Pending"),
    path,
    usesPopulator: path === "populator" || annotations[ANNOTATIONS.usePopulator] === "true",
    isPrePopulated:
      claim !== undefined && (isAdopted(claim, dataVolume) || !requiresWork(claim, dataVolume, now.cluster)),
    // A reference to a VolumeImportSource is for us to follow, whoever wrote it.
    isExternal: path === "none" && annotations[ANNOTATIONS.externalPopulation] !== undefined,
    isScheduled: filled?.status?.phase === "Bound" && hasWorker(now, path, filledAnnotations),
    isTerminal: (filledAnnotations[ANNOTATIONS.terminal] ?? annotations[ANNOTATIONS.terminal]) !== undefined,
  };
}

/** Made for another DataVolume, and given to this one when that was allowed. */
function isAdopted(claim: Claim, { metadata: { uid } }: DataVolume): boolean {
  const madeFor = annotationsOf(claim)[ANNOTATIONS.createdForDataVolume];
  return madeFor !== undefined && madeFor !== uid;
}

/**
 * On the legacy path the status changes anyway when the claim binds, so the worker that is made in the same pass counts. On the
 * populator path nothing else changes then: the worker counts when it has been seen, and if it has started by then, a patch is
 * saved.
 */
function hasWorker({ worker }: ObservedImport, path: FillPath, filled: StringMap): boolean {
  if (filled[ANNOTATIONS.podPhase] !== undefined || worker?.metadata.uid !== undefined) return true;
  return path === "legacy" && (worker !== undefined || filled[ANNOTATIONS.importPodName] !== undefined);
}
