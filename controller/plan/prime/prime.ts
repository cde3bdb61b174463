/**
 * The second step of a plan: a target on the populator path gets its prime, the claim that is filled in its place (contract
 * 4.3, 4.4). Its name is fixed by the target's UID, so that two attempts meet in one object.
 *
 * No prime is made for a target whose volume is on its way: a prime that somebody deleted after it was filled is not needed
 * any more.
 */
import type { DataVolume } from "../../api/cdi.ts";
import type { Claim } from "../../api/kube.ts";
import { isControlledBy } from "../../api/ownership.ts";
import { ANNOTATIONS } from "../../api/names.ts";
import { fillPath } from "../claim-to-fill.ts";
import { annotationsOf } from "../draft.ts";
import type { ImportDraft } from "../draft.ts";
import type { ObservedImport } from "../observed.ts";
import { promisedVolume } from "../handover/promise.ts";
import { bindsImmediately } from "../storage-class.ts";
import { SOURCE_NOT_SUPPORTED, tellProfileNotApplied, unsupportedSource } from "../target/unsupported.ts";
import { refusedCreation, rejectionReason, tell, warnOnce } from "../telling.ts";
import { primeClaim } from "./prime-claim.ts";
import { primeReadiness } from "./readiness.ts";

const REASON = "ErrCreatingPVCPrime";

export function planPrime(draft: ImportDraft): void {
  const { dataVolume, target, prime, source, cluster } = draft.now;
  if (target === undefined || !isOurs(target, dataVolume)) return;
  if (isUnfilled(target, draft.now)) warnOfEmptyVolume(draft, target);
  if (!wantsPrime(target, draft.now)) return;
  if (prime !== undefined) {
    if (isControlledBy(prime, target)) return restartElsewhere(draft, target, prime);
    warnOnce(
      draft,
      target,
      REASON,
      `Claim ${prime.metadata.name} has been made by somebody else: delete it to start the import`,
    );
    return;
  }
  if (source === undefined) return;
  const { targetClaim } = source.spec;
  if (targetClaim !== undefined && targetClaim !== "" && targetClaim !== target.metadata.name) return;

  const unsupported = unsupportedSource(source.spec);
  if (unsupported !== undefined) return warnOnce(draft, target, SOURCE_NOT_SUPPORTED, unsupported);
  const readiness = primeReadiness(target, cluster);
  if (readiness.is === "refused") warnOnce(draft, target, REASON, readiness.why);
  if (readiness.is !== "ready") return;
  const created = primeClaim(target, source, cluster, readiness.selectedNode);
  if (created === undefined) {
    warnOnce(draft, target, REASON, `VolumeImportSource ${source.metadata.name} names no source that can be imported`);
    return;
  }
  if (tellRejection(draft, target, created.metadata.name)) return;
  warnOnce(draft, target, REASON, undefined);
  draft.create(created, "prime");
  tell(draft, target, "Normal", "CreatedPVCPrimeSuccessfully", "PVC Prime created successfully");
  tellProfileNotApplied(draft, target);
}

/** @returns whether the API server has just refused to create it */
function tellRejection(draft: ImportDraft, target: Claim, name: string): boolean {
  const rejected = refusedCreation(draft.now, target.kind, name);
  if (rejected === undefined) return false;
  warnOnce(draft, target, rejectionReason(rejected, REASON), `Claim ${name} cannot be made: ${rejected.message}`);
  return true;
}

/**
 * A provisioner that cannot make the volume on the selected node takes the annotation back, so that the scheduler selects
 * another. It takes back the prime's; the scheduler looks at the target's. Nothing has been written yet.
 */
function restartElsewhere(draft: ImportDraft, target: Claim, prime: Claim): void {
  const { uid, deletionTimestamp } = prime.metadata;
  if (uid === undefined || deletionTimestamp !== undefined) return;
  if (prime.status?.phase !== "Pending" || (prime.spec.volumeName ?? "") !== "") return;
  const readiness = primeReadiness(target, draft.now.cluster);
  // Where its worker is the first consumer, it is the worker that the scheduler places.
  if (readiness.is !== "ready" || readiness.selectedNode === undefined || bindsImmediately(target)) return;
  if (annotationsOf(prime)[ANNOTATIONS.selectedNode] !== undefined) return;
  const { selectedNode } = readiness;
  draft.delete(prime);
  draft.annotate(target, { [ANNOTATIONS.selectedNode]: undefined });
  tell(
    draft,
    target,
    "Warning",
    REASON,
    `No volume could be made on node ${selectedNode}: another node is to be selected`,
  );
}

/** To be filled by us, and there to stay. */
function isOurs(target: Claim, dataVolume: DataVolume | undefined): boolean {
  const { uid, deletionTimestamp } = target.metadata;
  if (uid === undefined || (deletionTimestamp ?? dataVolume?.metadata.deletionTimestamp) !== undefined) return false;
  // Restored together with its data.
  if (annotationsOf(target)[ANNOTATIONS.populatedFor] !== undefined) return false;
  return fillPath(target) === "populator";
}

/** Unbound, and not about to get a filled volume. */
function wantsPrime({ metadata, spec, status }: Claim, { promised }: ObservedImport): boolean {
  // The binder sets the name before the phase; a user, to say which volume it is to be.
  if (spec.volumeName !== undefined && spec.volumeName !== "") return false;
  if (status?.phase === "Bound" || status?.phase === "Lost") return false;
  return promisedVolume(metadata, promised) === undefined;
}

/** Bound, though nothing was ever done to fill it. */
function isUnfilled(target: Claim, { prime }: ObservedImport): boolean {
  const annotations = annotationsOf(target);
  const untouched = annotations[ANNOTATIONS.prime] === undefined && annotations[ANNOTATIONS.podPhase] === undefined;
  return target.status?.phase === "Bound" && prime === undefined && untouched;
}

/** A volume that a user chose may well hold what it should; one that a provisioner made without asking us does not. */
function warnOfEmptyVolume(draft: ImportDraft, target: Claim): void {
  const readiness = primeReadiness(target, draft.now.cluster);
  if (readiness.is !== "refused") return;
  warnOnce(draft, target, REASON, `${readiness.why}. The claim has been bound to a volume that was not filled`);
}
