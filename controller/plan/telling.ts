/**
 * Telling the user of a claim what happens to it, without saying anything twice: plans have no memory.
 *
 * A claim of a DataVolume is spoken for by the DataVolume: a warning becomes its condition, and its own events say the rest. Of
 * a claim made by hand, the events are all that its user sees; a warning's text is kept in an annotation of the claim, which
 * makes it last longer than the event, and is why it is told once.
 */
import type { Claim } from "../api/kube.ts";
import { ANNOTATIONS } from "../api/names.ts";
import { cutText } from "./cut-text.ts";
import { annotationsOf } from "./draft.ts";
import type { ImportDraft } from "./draft.ts";
import type { ObservedImport, Rejection } from "./observed.ts";

/** In bytes; what an event may have. */
const MAX_WARNING = 1024;

const QUOTA_TEXT = "exceeded quota:";

/** @param message a sentence for the user; undefined takes an earlier warning back */
export function warnOnce(draft: ImportDraft, claim: Claim, reason: string, message: string | undefined): void {
  if (draft.now.dataVolume !== undefined) {
    if (message !== undefined) draft.problem(reason, message);
    return;
  }
  const text = message === undefined ? undefined : cutText(message, MAX_WARNING);
  if (annotationsOf(claim)[ANNOTATIONS.warned] === text) return;
  draft.annotate(claim, { [ANNOTATIONS.warned]: text });
  if (text !== undefined) draft.event(claim, "Warning", reason, text);
}

/** What happens once in an import: to be called where it happens, next to the change that says so. */
export function tell(
  draft: ImportDraft,
  claim: Claim,
  type: "Normal" | "Warning",
  reason: string,
  message: string,
): void {
  if (draft.now.dataVolume === undefined) draft.event(claim, type, reason, message);
}

/** That the API server has just refused to make this; undefined: it has not. */
export function refusedCreation({ rejected }: ObservedImport, kind: string, name: string): Rejection | undefined {
  return rejected?.do === "create" && rejected.kind === kind && rejected.name === name ? rejected : undefined;
}

/** Under which reason to tell what the API server refused: a quota has one of its own, whatever it is that cannot be made. */
export function rejectionReason({ message }: Rejection, otherwise: string): string {
  return message.includes(QUOTA_TEXT) ? "ErrExceededQuota" : otherwise;
}
