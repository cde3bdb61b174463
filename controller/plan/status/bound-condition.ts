/**
 * The condition Bound: whether the DataVolume has its claim and the claim its volume, and what it waits for (contract 2.3).
 *
 * Why a claim is pending comes from its newest event, of the prime if that is what waits. Every claim has some events on its
 * way; they are told only when nothing follows them, because each telling is a write.
 */
import type { Claim } from "../../api/kube.ts";
import { parseGoBool } from "../../api/go-bool.ts";
import { ANNOTATIONS } from "../../api/names.ts";
import { ageMs } from "../../api/time.ts";
import type { Finding } from "../condition-times.ts";
import { annotationsOf } from "../draft.ts";
import { finding, problemIn } from "./finding.ts";
import type { ImportView } from "./import-view.ts";
import type { DataVolumePhase } from "./phase.ts";

/** After so long, a claim that waits as all of them do is worth a word. */
const PATIENCE_MS = 30_000;

/** Reasons of events that say "soon". */
const ROUTINE_REASONS: readonly string[] = ["ExternalProvisioning", "Provisioning", "ProvisioningSucceeded"];

/** What the phase says already, or the worker pod's own condition. */
const SILENT_REASONS: readonly string[] = ["WaitForFirstConsumer", "WaitForPodScheduled"];

export function boundFinding(view: ImportView, phase: DataVolumePhase): Finding {
  const { claimPhase, annotations, now } = view;
  const problem = problemIn("Bound", view, phase);
  if (problem !== undefined) return problem;
  const isHeldBack = parseGoBool(annotations[ANNOTATIONS.bound]) === false;
  const reason = annotations[ANNOTATIONS.boundReason];
  const message = annotations[ANNOTATIONS.boundMessage] ?? "";
  switch (claimPhase) {
    case undefined:
      return finding("Bound", "False", "NotFound", missingText(view));
    case "Lost":
      return finding("Bound", "False", "ClaimLost", "Claim Lost");
    case "Bound":
      if (isHeldBack) return finding("Bound", "False", reason, message);
      return finding("Bound", "True", "Bound", `PVC ${now.name} Bound`);
    case "Pending": {
      if (isHeldBack) return finding("Bound", "False", reason, pendingText(view, ofPrime(view, message)));
      const news = pendingNews(view);
      if (news === undefined) return finding("Bound", "False", "Pending", `PVC ${now.name} Pending`);
      return finding("Bound", "False", news.reason, pendingText(view, news.message));
    }
    default:
      return finding("Bound", "False");
  }
}

/** A DataVolume that was restored from a backup waits for its claim to come from there. */
function missingText({ dataVolume, now: { name } }: ImportView): string {
  if (annotationsOf(dataVolume)[ANNOTATIONS.prePopulated] === undefined) return "No PVC found";
  return `No PVC found: annotation ${ANNOTATIONS.prePopulated} says that PVC ${name} is restored, not made`;
}

/** When what a claim waits for will have become worth a word, though nothing changes; undefined: never. */
export function newsDueInMs(view: ImportView): number | undefined {
  const { pending, now } = view.now;
  const waiting = waitingClaim(view);
  if (pending === undefined || waiting === undefined || !ROUTINE_REASONS.includes(pending.reason)) return undefined;
  const age = ageMs(waiting, now);
  return age < PATIENCE_MS ? PATIENCE_MS - age : undefined;
}

function pendingNews(view: ImportView): { readonly reason: string; readonly message: string } | undefined {
  const { pending, now, prime } = view.now;
  const waiting = waitingClaim(view);
  if (pending === undefined || waiting === undefined || SILENT_REASONS.includes(pending.reason)) return undefined;
  if (ROUTINE_REASONS.includes(pending.reason) && ageMs(waiting, now) < PATIENCE_MS) return undefined;
  const message = waiting === prime ? ofPrime(view, pending.message) : pending.message;
  return { reason: pending.reason, message };
}

/** The claim that the event is about, if it still waits. On the populator path it is routine for the target to wait. */
function waitingClaim({ claim, now: { pending, prime }, usesPopulator }: ImportView): Claim | undefined {
  const waiting = [claim, prime].find((one) => one !== undefined && one.metadata.name === pending?.claim);
  if (waiting === undefined || (waiting.status?.phase ?? "Pending") !== "Pending") return undefined;
  const isRoutine = pending !== undefined && ROUTINE_REASONS.includes(pending.reason);
  return waiting === claim && usesPopulator && isRoutine ? undefined : waiting;
}

function ofPrime(view: ImportView, message: string): string {
  const prime = nameOfPrime(view);
  return prime === undefined || message.startsWith(`[${prime}]`) ? message : `[${prime}] : ${message}`;
}

function pendingText(view: ImportView, message: string): string {
  return nameOfPrime(view) === undefined ? message : `target PVC ${view.now.name} Pending and ${message}`;
}

/** The target's annotation has it a little later than there is one. */
function nameOfPrime({ annotations, usesPopulator, now: { prime } }: ImportView): string | undefined {
  return annotations[ANNOTATIONS.prime] ?? (usesPopulator ? prime?.metadata.name : undefined);
}
