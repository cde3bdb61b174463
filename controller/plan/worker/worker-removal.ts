/**
 * When a worker pod goes: at once when its claim does, which cannot go before it; after its end, unless somebody wants to
 * look at it (contract 5.1, `pod.retainAfterCompletion`). That of a prime stays until the volume is the target's: until then
 * it says when it ended (`status/handing-over.ts`).
 *
 * It is never left to the garbage collector. That took the worker with a prime that was deleted in the foreground: one write
 * of ours less, and ten calls of kube-controller-manager more, two lists of all pods of the namespace among them.
 */
import type { Claim, KubeObject, Pod } from "../../api/kube.ts";
import { ANNOTATIONS } from "../../api/names.ts";
import { annotationsOf } from "../draft.ts";
import type { ImportDraft } from "../draft.ts";
import { promisedVolume } from "../handover/promise.ts";
import { claimToFill, isFilled } from "../claim-to-fill.ts";
import type { ObservedImport } from "../observed.ts";

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
  if (claim !== undefined && isWorkerOf(pod, claim)) removeWorker(draft, pod);
}

/** To be called when what it left behind is on its way to the claim's annotations. */
export function removeEndedWorker(draft: ImportDraft, pod: Pod): void {
  const isRetained = annotationsOf(claimToFill(draft.now))[ANNOTATIONS.podRetain] === "true";
  if (!isRetained && !isHandingOver(draft.now)) removeWorker(draft, pod);
}

/** The prime is filled, and its volume not yet the target's, or not yet what it was. */
function isHandingOver(now: ObservedImport): boolean {
  const { target, promised } = now;
  const claim = claimToFill(now);
  if (target === undefined || claim === undefined || claim === target || !isFilled(claim)) return false;
  return target.status?.phase !== "Bound" || promisedVolume(target.metadata, promised) !== undefined;
}
