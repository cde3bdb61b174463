/**
 * The fourth step of a plan: what the prime has goes to the target (contract 4.5, 4.7, 4.8). First what is known of the worker,
 * then, when it has succeeded, the volume, in three patches, each bound to the volume as it was seen:
 *
 *   1. It is promised to the target and its policy becomes Retain.
 *   2. Its claimRef becomes the target's. Kubernetes binds the target to it and calls the prime Lost.
 *   3. When the target is bound, its policy is restored, and the worker has gone. Then the prime can go.
 *
 * A promise whose target is gone is ended, so that the volume goes the way of its policy.
 */
import type { Claim, ObjectMeta, ObjectReference, Volume } from "../../api/kube.ts";
import { ANNOTATIONS, primeName } from "../../api/names.ts";
import type { MergePatch } from "../action.ts";
import { claimToFill, fillPath, isFilled } from "../claim-to-fill.ts";
import { annotationsOf } from "../draft.ts";
import type { ImportDraft } from "../draft.ts";
import { warnOnce } from "../telling.ts";
import { mirrorPrime } from "./mirror.ts";
import { endPromise, isMeantFor, makePromise, promisedVolume } from "./promise.ts";

export function planHandover(draft: ImportDraft): void {
  const { target, promised } = draft.now;
  for (const volume of promised) {
    if (target === undefined || !isMeantFor(volume, target.metadata)) change(draft, volume, endPromise(volume));
  }
  if (target?.metadata.uid === undefined || target.metadata.deletionTimestamp !== undefined) return;
  if (fillPath(target) !== "populator" || target.status?.phase === "Lost") return;
  const prime = claimToFill(draft.now);

  if (target.status?.phase === "Bound") {
    if (prime?.metadata.uid !== undefined && !holdsSame(target, prime)) warnOfOtherVolume(draft, target, prime);
    else arrive(draft, target, prime);
    return;
  }
  // One that this pass makes tells nothing yet.
  if (prime?.metadata.uid !== undefined) mirrorPrime(draft, target, prime);
  handOver(draft, target, prime);
}

/** Takes the next step of the unbound target's volume towards it. */
function handOver(draft: ImportDraft, target: Claim, prime: Claim | undefined): void {
  const promised = promisedVolume(target.metadata, draft.now.promised);
  if (promised !== undefined) {
    const { claimRef } = promised.spec;
    // Also where the prime is gone: its name belongs to this target alone.
    if (isOfPrime(claimRef, target.metadata)) change(draft, promised, { spec: { claimRef: referenceTo(target) } });
    else if (!refersTo(claimRef, target.metadata)) warnOfForeign(draft, target, promised);
    return;
  }
  if (prime?.metadata.uid === undefined || !isFilled(prime)) return;
  const { volume } = draft.now;
  if (volume === undefined || volume.metadata.name !== prime.spec.volumeName) {
    if (prime.status?.phase === "Lost") {
      const { name } = prime.metadata;
      warnOnce(draft, target, "ErrClaimLost", `The volume of claim ${name} is gone: delete this claim to import again`);
    }
    return;
  }
  const { claimRef } = volume.spec;
  if (refersTo(claimRef, prime.metadata)) change(draft, volume, makePromise(volume, target.metadata));
  else if (!refersTo(claimRef, target.metadata)) warnOfForeign(draft, target, volume);
}

/** The target is bound to the volume that was filled for it, or to one that was never on its way. */
function arrive(draft: ImportDraft, target: Claim, prime: Claim | undefined): void {
  if (prime?.metadata.uid !== undefined) mirrorPrime(draft, target, prime);
  const isRetained = annotationsOf(prime)[ANNOTATIONS.podRetain] === "true";
  const promised = promisedVolume(target.metadata, draft.now.promised);
  if (promised !== undefined) {
    change(draft, promised, endPromise(promised));
    if (prime !== undefined && isRetained) {
      draft.event(
        prime,
        "Normal",
        "RetainedPVCPrime",
        `PVC Prime ${prime.metadata.name} is kept, as its annotation asks`,
      );
    }
  }
  // Kubernetes' word that the volume has gone over: without it, deleting the prime could take the volume along.
  if (prime?.metadata.uid === undefined || prime.metadata.deletionTimestamp !== undefined) return;
  if (prime.status?.phase !== "Lost" || !isFilled(prime) || isRetained) return;
  draft.delete(prime);
}

/** Somebody bound the target to another volume meanwhile: the filled one is kept with its prime, and not called the target's. */
function warnOfOtherVolume(draft: ImportDraft, target: Claim, prime: Claim): void {
  const promised = promisedVolume(target.metadata, draft.now.promised);
  if (promised !== undefined) change(draft, promised, endPromise(promised));
  const { volumeName = "" } = target.spec;
  const message = `The claim has been bound to volume ${volumeName}, which is not the one that claim ${prime.metadata.name} fills`;
  warnOnce(draft, target, "ErrClaimNotFilled", message);
}

function warnOfForeign(draft: ImportDraft, target: Claim, volume: Volume): void {
  const message = `Volume ${volume.metadata.name}, which was filled for this claim, has been given to another claim`;
  warnOnce(draft, target, "ErrClaimNotFilled", message);
}

function holdsSame(target: Claim, prime: Claim): boolean {
  return target.spec.volumeName !== undefined && target.spec.volumeName === prime.spec.volumeName;
}

function refersTo(reference: ObjectReference | undefined, { namespace, name, uid }: ObjectMeta): boolean {
  return reference?.namespace === namespace && reference?.name === name && reference?.uid === uid;
}

function isOfPrime(reference: ObjectReference | undefined, { namespace, uid = "" }: ObjectMeta): boolean {
  return reference?.namespace === namespace && reference?.name === primeName(uid);
}

/** Without what says the kind, as the binder leaves it; a merge patch has to remove it by name. */
function referenceTo({
  metadata: { namespace, name, uid, resourceVersion },
}: Claim): Readonly<Record<string, unknown>> {
  return { apiVersion: null, kind: null, namespace, name, uid, resourceVersion: resourceVersion ?? null };
}

/** As it was seen; not while the API server has just refused to change it. */
function change(draft: ImportDraft, volume: Volume, patch: MergePatch): void {
  const { rejected, target } = draft.now;
  if (rejected?.do === "patch" && rejected.kind === volume.kind && rejected.name === volume.metadata.name) {
    const message = `Volume ${rejected.name} cannot be changed: ${rejected.message}`;
    if (target?.metadata.uid !== undefined) warnOnce(draft, target, "ErrHandingOver", message);
    return;
  }
  draft.patch(volume, patch, { checked: true });
}
