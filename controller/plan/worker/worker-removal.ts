/**
 * When a worker pod goes: at once when its claim does, which cannot go before it; after its end, unless somebody wants to
 * look at it (contract 5.1, `pod.retainAfterCompletion`). That of a prime goes with the prime, which is a moment later and
 * saves a call.
 */
import type { Claim, KubeObject, Pod } from "../../api/kube.ts";
import { ANNOTATIONS } from "../../api/names.ts";
import { hasEnded } from "../../api/pods.ts";
import { annotationsOf } from "../draft.ts";
import type { ImportDraft } from "../draft.ts";
import { claimToFill, isFilled } from "../claim-to-fill.ts";
import type { ObservedImport } from "../observed.ts";
import { hasScratch } from "./ending.ts";

/** Of what the garbage collector deletes only after what it owns. */
const FOREGROUND_FINALIZER = "foregroundDeletion";

export function isLeaving(object: KubeObject | undefined): boolean {
  return object?.metadata.deletionTimestamp !== undefined;
}

/** Made for this claim: others may have taken a worker's name. */
export function isWorkerOf({ metadata: { ownerReferences = [] } }: Pod, claim: Claim): boolean {
  return ownerReferences.some(({ uid }) => uid === claim.metadata.uid);
}

export function removeWorker(draft: ImportDraft, pod: Pod): void {
  if (!isLeaving(pod)) draft.delete(pod);
}

/** Of a claim that is not to be filled any more, or that is on its way out. */
export function removeWithClaim(draft: ImportDraft, pod: Pod): void {
  const claim = claimToFill(draft.now) ?? draft.now.target;
  if (claim === undefined || !isWorkerOf(pod, claim)) return;
  const isBeingCollected = claim.metadata.finalizers?.includes(FOREGROUND_FINALIZER) === true;
  if (!isBeingCollected || !goesWithPrime(draft.now)) removeWorker(draft, pod);
}

/** To be called when what it left behind is on its way to the claim's annotations. */
export function removeEndedWorker(draft: ImportDraft, pod: Pod): void {
  const isRetained = annotationsOf(claimToFill(draft.now))[ANNOTATIONS.podRetain] === "true";
  if (!isRetained && !goesWithPrime(draft.now)) removeWorker(draft, pod);
}

/**
 * Whether the worker is left to the garbage collector, who takes it when the prime is deleted in the foreground; in the
 * background it would wait for the prime, and the prime for its pod. Not one with scratch space: in the foreground the
 * collector waits for the scratch claim, and that for the pod.
 */
export function goesWithPrime(now: ObservedImport): boolean {
  const { target, worker } = now;
  const claim = claimToFill(now);
  if (worker === undefined || claim === undefined || claim === target) return false;
  return isFilled(claim) && isWorkerOf(worker, claim) && hasEnded(worker) && !hasScratch(worker);
}
