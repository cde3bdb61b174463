/**
 * Which CRDs the controller makes or brings up to date before it works. Pure.
 *
 * A CRD is ours by its label. One of these names without it was made by somebody else, such as KubeVirt CDI: two controllers
 * would fight over the same objects, so nothing is touched, and the sentence says how a cluster is handed over. One that
 * a newer release of ours has written is left alone, so replicas of two releases do not undo each other's work.
 */
import type { KubeObject } from "./api/kube.ts";
import { OWNER, OWNER_LABEL, SCHEMA_ANNOTATION } from "./crds/definition.ts";
import type { CustomResourceDefinition } from "./crds/definition.ts";
import { keyOf } from "./plan/action.ts";
import type { Action } from "./plan/action.ts";

/** As the API server has it; it may be anybody's. */
export interface ObservedCrd extends KubeObject {
  readonly status?: { readonly conditions?: readonly { readonly type?: string; readonly status?: string }[] };
}

export type CrdDecision =
  | { readonly kind: "refused"; readonly sentence: string }
  | {
      readonly kind: "accepted";
      readonly actions: readonly Action[];
      /** All are there and served: work may begin. Else this is asked again after the actions. */
      readonly isReady: boolean;
    };

/** Nine digits are an exact number. */
const SCHEMA = /^(\d{1,9})-[0-9a-f]{1,64}$/;

/**
 * @param wanted   allCrds()
 * @param observed those of the same names that there are; more do not matter
 */
export function ensureCrds(wanted: readonly CustomResourceDefinition[], observed: readonly ObservedCrd[]): CrdDecision {
  const pairs = wanted.map((crd) => ({ crd, found: observed.find((one) => one.metadata.name === crd.metadata.name) }));
  const foreign = pairs
    .filter(({ found }) => found !== undefined && !isOurs(found))
    .map(({ crd }) => crd.metadata.name);
  if (foreign.length > 0) return { kind: "refused", sentence: refusal(foreign) };
  const actions = pairs.flatMap(({ crd, found }): readonly Action[] => {
    if (found === undefined) return [{ do: "create", object: crd }];
    return found.metadata.deletionTimestamp === undefined && isOlder(found, crd) ? [updateOf(found, crd)] : [];
  });
  return { kind: "accepted", actions, isReady: actions.length === 0 && pairs.every(({ found }) => isServed(found)) };
}

function isOurs({ metadata }: ObservedCrd): boolean {
  return metadata.labels?.[OWNER_LABEL] === OWNER;
}

function refusal(names: readonly string[]): string {
  const [has, them] = names.length === 1 ? ["belongs", "it"] : ["belong", "them"];
  return (
    `${names.join(", ")} ${has} to another installation, such as KubeVirt CDI: remove that, or, once it is stopped, ` +
    `hand ${them} over with: kubectl label crd ${names.join(" ")} ${OWNER_LABEL}=${OWNER}`
  );
}

/** Of the same revision but another schema, as between two builds of one release, counts as older. */
function isOlder(found: ObservedCrd, crd: CustomResourceDefinition): boolean {
  const [theirs, ours] = [schemaOf(found), schemaOf(crd)];
  return theirs !== ours && revisionOf(theirs) <= revisionOf(ours);
}

function schemaOf({ metadata }: KubeObject): string {
  return metadata.annotations?.[SCHEMA_ANNOTATION] ?? "";
}

/** 0 for what says none: it was handed over. */
function revisionOf(schema: string): number {
  return Number(SCHEMA.exec(schema)?.[1] ?? 0);
}

/** A list is replaced as a whole by a merge patch, so no version of the old schema stays. */
function updateOf(found: ObservedCrd, crd: CustomResourceDefinition): Action {
  const { uid = "", resourceVersion = "" } = found.metadata;
  const patch = { metadata: { annotations: crd.metadata.annotations }, spec: crd.spec };
  return { do: "patch", object: keyOf(crd), uid, resourceVersion, patch };
}

function isServed(found: ObservedCrd | undefined): boolean {
  if (found === undefined || found.metadata.deletionTimestamp !== undefined) return false;
  const conditions = found.status?.conditions;
  if (!Array.isArray(conditions)) return false;
  return conditions.some((condition) => condition?.type === "Established" && condition.status === "True");
}
