/**
 * When a worker pod goes: at once when its claim does, which cannot go before it; after its end, unless somebody wants to
 * look at it (contract 5.1, `pod.retainAfterCompletion`).
 */
import type { KubeObject, Pod } from "../../api/kube.ts";
import { ANNOTATIONS } from "../../api/names.ts";
import { annotationsOf } from "../draft.ts";
import type { ImportDraft } from "../draft.ts";
import { claimToFill } from "../claim-to-fill.ts";

export function isLeaving(object: KubeObject | undefined): boolean {
  return object?.metadata.deletionTimestamp !== undefined;
}

export function removeWorker(draft: ImportDraft, pod: Pod): void {
  if (!isLeaving(pod)) draft.delete(pod);
}

/** To be called when what it left behind is on its way to the claim's annotations. */
export function removeEndedWorker(draft: ImportDraft, pod: Pod): void {
  const isRetained = annotationsOf(claimToFill(draft.now))[ANNOTATIONS.podRetain] === "true";
  if (!isRetained) removeWorker(draft, pod);
}
