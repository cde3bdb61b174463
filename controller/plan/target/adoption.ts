/**
 * Claims that were there before their DataVolume: restored from a backup, cloned by hand, or kept (contract 2.1). They are
 * taken as they are, and nothing is imported into them.
 */
import type { DataVolume } from "../../api/cdi.ts";
import { parseGoBool } from "../../api/go-bool.ts";
import type { Claim } from "../../api/kube.ts";
import { ANNOTATIONS, GATE_CLAIM_ADOPTION } from "../../api/names.ts";
import { annotationsOf } from "../draft.ts";
import type { ClusterFacts } from "../observed.ts";

/** Whoever wrote that onto the claim says that it holds this DataVolume's disk. */
export function isPopulatedFor(claim: Claim, dataVolume: DataVolume): boolean {
  return annotationsOf(claim)[ANNOTATIONS.populatedFor] === dataVolume.metadata.name;
}

/** False for a claim that was made for this very DataVolume: that one is filled. */
function mayAdopt(claim: Claim, dataVolume: DataVolume, { config }: ClusterFacts): boolean {
  const madeFor = annotationsOf(claim)[ANNOTATIONS.createdForDataVolume];
  if (madeFor !== undefined && madeFor === dataVolume.metadata.uid) return false;
  const allowed = annotationsOf(dataVolume)[ANNOTATIONS.allowClaimAdoption];
  if (allowed !== undefined) return parseGoBool(allowed) ?? false;
  return config?.spec.featureGates?.includes(GATE_CLAIM_ADOPTION) === true;
}

/** False: the claim as it is fulfils the DataVolume, which is Succeeded. */
export function requiresWork(claim: Claim, dataVolume: DataVolume, facts: ClusterFacts): boolean {
  return !isPopulatedFor(claim, dataVolume) && !mayAdopt(claim, dataVolume, facts);
}
