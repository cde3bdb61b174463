/**
 * What CDIConfig decides for one import (contract 1.8, 3.4). Status holds what was computed from spec; until it is there, the
 * defaults that it will hold are used, so that no import waits for it.
 */
import type { ClaimSpec, Resources, StringMap } from "../api/kube.ts";
import { DEFAULT_OVERHEAD } from "../api/names.ts";
import type { ClusterFacts } from "./observed.ts";
import { findClass } from "./storage-class.ts";

/** Of each container of a worker pod, where nobody says more. */
export const USUAL_RESOURCES = {
  limits: { cpu: "750m", memory: "600M" },
  requests: { cpu: "100m", memory: "60M" },
} as const satisfies Resources;

/** What the API lets in: a share of at most three decimals. */
export const OVERHEAD_PATTERN = /^(?:0(?:\.\d{1,3})?|1)$/;

/**
 * The share of a claim's volume that its filesystem takes for itself, as text: `0.06`. Nothing for a device, nor for a class
 * whose name is empty. A class that is not known counts as the default one.
 */
export function overheadOf(facts: ClusterFacts, spec: Pick<ClaimSpec, "storageClassName" | "volumeMode">): string {
  if (spec.volumeMode === "Block" || spec.storageClassName === "") return "0";
  const { status, spec: asked } = facts.config ?? {};
  const found = findClass(facts, spec.storageClassName) ?? findClass(facts, undefined);
  const byClass: StringMap = status?.filesystemOverhead?.storageClass ?? asked?.filesystemOverhead?.storageClass ?? {};
  const name = found?.metadata.name;
  const ofClass = name !== undefined && Object.hasOwn(byClass, name) ? byClass[name] : undefined;
  const global = status?.filesystemOverhead?.global ?? asked?.filesystemOverhead?.global;
  return [ofClass, global].find((share) => share !== undefined && OVERHEAD_PATTERN.test(share)) ?? DEFAULT_OVERHEAD;
}

/** @param asked by the DataVolume or the VolumeImportSource */
export function preallocationFor({ config }: ClusterFacts, asked: boolean | undefined): boolean {
  return asked ?? config?.status?.preallocation ?? config?.spec.preallocation ?? false;
}
