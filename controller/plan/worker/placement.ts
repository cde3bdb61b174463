/**
 * Where worker pods may run: as the CDI object's `workload` says, and as annotations of the DataVolume add (`decant.dev/…`,
 * JSON as in a pod's spec). The worker is often the first consumer of its claim, so this decides where the disk ends up.
 *
 * A placement that cannot be read starts no worker: one that runs anywhere might bind the volume where it is of no use.
 */
import type { Cdi, Placement } from "../../api/cdi.ts";
import type { StringMap, Toleration } from "../../api/kube.ts";
import { ANNOTATIONS } from "../../api/names.ts";
import { isMap } from "../draft.ts";

/** `refused`: a sentence for the user. */
export type PlacementReading = { readonly placement: Placement } | { readonly refused: string };

/** Of one annotation, in characters; a pod's affinity rarely has a tenth of it. */
const MAX_LENGTH = 16 * 1024;
/** Of tolerations or of a selector's labels. */
const MAX_ENTRIES = 100;

const TOLERATION_TEXTS = ["key", "operator", "value", "effect"];

/** @param annotations of the DataVolume, or of a claim that has none */
export function readPlacement(cdi: Cdi | undefined, annotations: StringMap): PlacementReading {
  const workload = cdi?.spec.workload ?? {};
  const placement: { -readonly [K in keyof Placement]: Placement[K] } = { ...workload };
  const selector = readAnnotation(annotations, ANNOTATIONS.placementNodeSelector);
  if (selector !== undefined) {
    if (!isStringMap(selector)) return refusal(ANNOTATIONS.placementNodeSelector, "a JSON object of strings");
    placement.nodeSelector = { ...workload.nodeSelector, ...selector };
  }
  const tolerations = readAnnotation(annotations, ANNOTATIONS.placementTolerations);
  if (tolerations !== undefined) {
    if (!areTolerations(tolerations)) return refusal(ANNOTATIONS.placementTolerations, "a JSON list of tolerations");
    placement.tolerations = [...(workload.tolerations ?? []), ...tolerations];
  }
  const affinity = readAnnotation(annotations, ANNOTATIONS.placementAffinity);
  if (affinity !== undefined) {
    if (!isMap(affinity)) return refusal(ANNOTATIONS.placementAffinity, "a JSON object");
    placement.affinity = affinity;
  }
  return { placement };
}

/** Undefined: there is none. What is no JSON, or too long, is null, which none of them may be. */
function readAnnotation(annotations: StringMap, name: string): unknown {
  const text = annotations[name];
  if (text === undefined || text === "") return undefined;
  if (text.length > MAX_LENGTH) return null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function refusal(name: string, expected: string): PlacementReading {
  return { refused: `annotation ${name} is not ${expected} of at most ${MAX_LENGTH} characters` };
}

function isStringMap(value: unknown): value is StringMap {
  if (!isMap(value)) return false;
  const texts = Object.values(value);
  return texts.length <= MAX_ENTRIES && texts.every((text) => typeof text === "string");
}

function areTolerations(value: unknown): value is readonly Toleration[] {
  return Array.isArray(value) && value.length <= MAX_ENTRIES && value.every(isToleration);
}

function isToleration(value: unknown): value is Toleration {
  if (!isMap(value)) return false;
  return Object.entries(value).every(([key, part]) => {
    return TOLERATION_TEXTS.includes(key)
      ? typeof part === "string"
      : key === "tolerationSeconds" && Number.isSafeInteger(part);
  });
}
