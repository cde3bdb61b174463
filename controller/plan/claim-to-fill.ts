/**
 * Which claim a worker writes: on the populator path the prime, whose volume is then handed to the target; on the legacy
 * path the target itself (contract 4, 5). Its annotations hold what is known of the worker.
 */
import type { Claim } from "../api/kube.ts";
import { ANNOTATIONS, GROUP, VOLUME_IMPORT_SOURCE } from "../api/names.ts";
import { isControlledBy } from "../api/ownership.ts";
import { annotationsOf } from "./draft.ts";
import { hasStagesLeft } from "./import-annotations.ts";
import type { ObservedImport } from "./observed.ts";

/** `none`: nothing of ours, or another population than an import. */
export type FillPath = "populator" | "legacy" | "none";

export function fillPath(target: Claim): FillPath {
  const annotations = annotationsOf(target);
  const reference = target.spec.dataSourceRef;
  if (reference !== undefined) {
    const isImport =
      reference.apiGroup === GROUP && reference.kind === VOLUME_IMPORT_SOURCE && reference.namespace === undefined;
    return isImport && reference.name !== "" ? "populator" : "none";
  }
  if (annotations[ANNOTATIONS.externalPopulation] !== undefined) return "none";
  const hasImport =
    annotations[ANNOTATIONS.importSource] !== undefined || annotations[ANNOTATIONS.importEndpoint] !== undefined;
  return hasImport ? "legacy" : "none";
}

/** Undefined while there is none yet, or where nothing is to be filled. */
export function claimToFill({ target, prime }: ObservedImport): Claim | undefined {
  if (target === undefined) return undefined;
  const path = fillPath(target);
  if (path === "none") return undefined;
  if (path === "legacy") return target;
  // A claim of the prime's name that somebody else made is left alone.
  return prime !== undefined && isControlledBy(prime, target) ? prime : undefined;
}

/** Its worker has ended well, with the last of its stages if it has several. */
export function isFilled(claim: Claim): boolean {
  const annotations = annotationsOf(claim);
  return annotations[ANNOTATIONS.podPhase] === "Succeeded" && !hasStagesLeft(annotations);
}
