/**
 * Endings that stay, and how a user takes one back: by giving the annotation `decant.dev/retry` a value that it did not have.
 */
import type { Claim } from "../../api/kube.ts";
import { ANNOTATIONS } from "../../api/names.ts";
import { cutText } from "../cut-text.ts";
import { annotationsOf } from "../draft.ts";
import type { MapChange } from "../draft.ts";
import type { ObservedImport } from "../observed.ts";

/** In bytes: it is written to the claim once more, whose annotations have a limit together. */
const MAX_RETRY = 1024;

/** No other worker is to be started. */
export function hasEndedForGood(claim: Claim): boolean {
  const annotations = annotationsOf(claim);
  return annotations[ANNOTATIONS.terminal] !== undefined || annotations[ANNOTATIONS.importFatalError] === "true";
}

/** The annotation's value; a DataVolume's counts before its claim's, which may be an old copy. */
export function retryAsked({ dataVolume, target }: ObservedImport): string | undefined {
  const asked = annotationsOf(dataVolume)[ANNOTATIONS.retry] ?? annotationsOf(target)[ANNOTATIONS.retry];
  return asked === undefined ? undefined : cutText(asked, MAX_RETRY);
}

export function isRetryDue(observed: ObservedImport, claim: Claim): boolean {
  const asked = retryAsked(observed);
  return asked !== undefined && asked !== annotationsOf(claim)[ANNOTATIONS.retried];
}

/** As before the first try, but for the count of restarts. */
export const FRESH_START: MapChange = {
  [ANNOTATIONS.terminal]: undefined,
  [ANNOTATIONS.importFatalError]: undefined,
  [ANNOTATIONS.podPhase]: undefined,
  [ANNOTATIONS.importPodName]: undefined,
  [ANNOTATIONS.running]: undefined,
  [ANNOTATIONS.runningMessage]: undefined,
  [ANNOTATIONS.runningReason]: undefined,
};
