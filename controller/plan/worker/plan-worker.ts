/**
 * The worker of an import (contract 5): at most one pod, which writes the claim to fill, and what is known of it on that claim.
 * It knows nothing of DataVolumes but where the worker may run; its order is in the claim's annotations, and so is its result.
 */
import type { Claim, Pod } from "../../api/kube.ts";
import { ANNOTATIONS } from "../../api/names.ts";
import { controllerOf, isControlledBy } from "../../api/ownership.ts";
import { claimToFill } from "../claim-to-fill.ts";
import { annotationsOf } from "../draft.ts";
import type { ImportDraft } from "../draft.ts";
import type { ObservedImport } from "../observed.ts";
import { refusedCreation, rejectionReason } from "../telling.ts";
import { hasScratch } from "./ending.ts";
import { scratchName, workerName } from "./object-name.ts";
import { refreshProxyCopy } from "./proxy-config-map.ts";
import { reportWorker } from "./report-worker.ts";
import { FRESH_START, hasEndedForGood, isRetryDue } from "./retry.ts";
import { noteState } from "./running-note.ts";
import { stopped } from "./running-state.ts";
import { scratchClaim } from "./scratch-claim.ts";
import { startWorker } from "./start-worker.ts";
import { isLeaving, isWorkerOf, removeEndedWorker, removeWithClaim, removeWorker } from "./worker-removal.ts";

/** Until the garbage collector has taken what was somebody else's. */
const LEFTOVERS_GONE_AFTER_MS = 5000;

export function planWorker(draft: ImportDraft): void {
  const { target, worker, orphans } = draft.now;
  for (const orphan of orphans) removeWorker(draft, orphan);
  const claim = claimToFill(draft.now);
  if (claim === undefined || isLeaving(claim) || isLeaving(target)) {
    if (worker !== undefined) removeWithClaim(draft, worker);
    return;
  }
  // The next pass has it.
  if (claim.metadata.uid === undefined) return;
  if (worker !== undefined && !isWorkerOf(worker, claim)) return reportStranger(draft, claim, worker);
  if (annotationsOf(claim)[ANNOTATIONS.podPhase] === "Succeeded") {
    if (worker !== undefined) removeEndedWorker(draft, worker);
    return;
  }
  if (hasEndedForGood(claim)) return planAfterFailure(draft, claim);
  if (worker === undefined) return start(draft, claim);
  refreshProxyCopy(draft, claim);
  if (!planScratch(draft, claim, worker)) return;
  reportWorker(draft, claim, worker);
}

function planAfterFailure(draft: ImportDraft, claim: Claim): void {
  const { worker } = draft.now;
  if (!isRetryDue(draft.now, claim)) {
    if (worker !== undefined) removeEndedWorker(draft, worker);
    return;
  }
  if (worker !== undefined) return removeWorker(draft, worker);
  draft.annotate(claim, FRESH_START);
  start(draft, claimToFill(draft.now) ?? claim);
}

function start(draft: ImportDraft, claim: Claim): void {
  if (isLeaving(draft.now.dataVolume) || isFilledOtherwise(draft.now)) return;
  if (annotationsOf(claim)[ANNOTATIONS.importRequiresScratch] === "true" && draft.now.scratch !== undefined) {
    // Of the pod before: a new pod that mounts it would keep it from going.
    return waitForScratchName(draft, claim, draft.now.scratch);
  }
  startWorker(draft, claim);
}

/** The claim came with its data, or is to be bound to a volume that has it. */
function isFilledOtherwise({ dataVolume, target }: ObservedImport): boolean {
  const annotations = annotationsOf(target);
  if (annotations[ANNOTATIONS.populatedFor] !== undefined) return true;
  if (annotations[ANNOTATIONS.volumeList] !== undefined) return true;
  if (dataVolume === undefined || target === undefined || !isControlledBy(target, dataVolume)) return false;
  return annotations[ANNOTATIONS.createdForDataVolume] !== dataVolume.metadata.uid;
}

/**
 * A pod that mounts scratch space waits until there is some.
 * @returns whether the pod can go on
 */
function planScratch(draft: ImportDraft, claim: Claim, worker: Pod): boolean {
  if (!hasScratch(worker) || worker.status?.phase === "Succeeded" || isLeaving(worker)) return true;
  const { scratch, target, cluster } = draft.now;
  if (scratch === undefined) {
    const name = scratchName(claim.metadata.name);
    const rejected = refusedCreation(draft.now, claim.kind, name);
    if (rejected !== undefined) {
      const reason = rejectionReason(rejected, "ErrStartingPod");
      noteState(draft, claim, stopped(reason, `Error making scratch space '${name}': ${rejected.message}`), {
        event: reason,
      });
      return false;
    }
    const isPrime = target?.metadata.uid !== claim.metadata.uid;
    draft.create(scratchClaim(claim, worker, isPrime, cluster), "scratch");
    return true;
  }
  if (scratch.metadata.uid === undefined || (isControlledBy(scratch, worker) && !isLeaving(scratch))) return true;
  // It is not this pod's to write, or cannot go while the pod mounts it.
  removeWorker(draft, worker);
  return false;
}

function waitForScratchName(draft: ImportDraft, claim: Claim, scratch: Claim): void {
  draft.again(LEFTOVERS_GONE_AFTER_MS);
  const owner = controllerOf(scratch);
  if (owner?.kind === "Pod" && owner.name === workerName(claim.metadata.name)) return;
  const message = `PersistentVolumeClaim ${scratchName(claim.metadata.name)} exists and is not of this import`;
  noteState(draft, claim, stopped("ErrStartingPod", message), { event: "ErrStartingPod" });
}

/** A pod of the worker's name: of an earlier claim of the same name, until the garbage collector has taken it, or anybody's. */
function reportStranger(draft: ImportDraft, claim: Claim, { metadata }: Pod): void {
  draft.again(LEFTOVERS_GONE_AFTER_MS);
  const isLeftover = metadata.ownerReferences?.some(({ kind, name }) => {
    return kind === "PersistentVolumeClaim" && name === claim.metadata.name;
  });
  if (isLeftover === true) return;
  const message = `pod ${metadata.name} exists and is not of this import`;
  noteState(draft, claim, stopped("ErrStartingPod", message), { event: "ErrStartingPod" });
}
