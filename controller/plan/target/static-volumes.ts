/**
 * Volumes that are there already (contract 2.7, 3.2): an administrator, or a backup tool, made them for a claim that does not
 * exist yet. What they hold is kept, so nothing is ever imported into them.
 */
import { quantityInBytes } from "../../../importer/quantity.ts";
import type { Claim, ClaimSpec, Volume } from "../../api/kube.ts";
import { ANNOTATIONS } from "../../api/names.ts";
import { annotationsOf } from "../draft.ts";
import type { ClusterFacts } from "../observed.ts";
import { findClass } from "../storage-class.ts";
import { askedStorage } from "./claim-size.ts";

/** Longer lists were not written by this controller; all annotations of an object together may have no more. */
const MAX_LIST_LENGTH = 256 * 1024;

/** On a volume, by the provisioner that made it. */
const PROVISIONED_BY = "pv.kubernetes.io/provisioned-by";

/** Names of the available volumes that are reserved for the claim of this name and would satisfy it, sorted. */
export function reservedVolumes(facts: ClusterFacts, namespace: string, name: string, spec: ClaimSpec): string[] {
  return facts.availableVolumes
    .filter(({ spec: { claimRef } }) => claimRef?.namespace === namespace && claimRef.name === name)
    .filter((volume) => satisfies(facts, volume, spec))
    .map(({ metadata }) => metadata.name)
    .sort();
}

/** Of a class that has no StorageClass object: what a claim can have is what its volumes are. */
export function firstAvailableVolume(
  facts: ClusterFacts,
  namespace: string,
  name: string,
  spec: ClaimSpec,
): Volume | undefined {
  return facts.availableVolumes
    .filter(({ spec: { claimRef: to } }) => to === undefined || (to.namespace === namespace && to.name === name))
    .filter((volume) => satisfies(facts, volume, spec))
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))[0];
}

/** What was written into a claim's volumeList; undefined where there is none. */
export function listedVolumes(claim: Claim): readonly string[] | undefined {
  const text = annotationsOf(claim)[ANNOTATIONS.volumeList];
  if (text === undefined) return undefined;
  if (text.length > MAX_LIST_LENGTH) return [];
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) ? list.filter((name) => typeof name === "string") : [];
  } catch {
    return [];
  }
}

/** Made for this claim, so that it holds nothing that was there before. */
export function wasProvisionedFor(claim: Claim, volume: Volume | undefined): boolean {
  const made = volume?.metadata.creationTimestamp;
  const asked = claim.metadata.creationTimestamp;
  return (
    volume !== undefined &&
    volume.metadata.name === claim.spec.volumeName &&
    annotationsOf(volume)[PROVISIONED_BY] !== undefined &&
    made !== undefined &&
    asked !== undefined &&
    made >= asked
  );
}

/** Properties that the claim leaves open are not compared. */
function satisfies(facts: ClusterFacts, volume: Volume, spec: ClaimSpec): boolean {
  const { capacity, storageClassName = "", volumeMode = "Filesystem", accessModes = [] } = volume.spec;
  const wantedClass = spec.storageClassName ?? findClass(facts, undefined)?.metadata.name ?? "";
  const wanted = quantityInBytes(askedStorage(spec.resources) ?? "0") ?? 0;
  const size = quantityInBytes(capacity?.["storage"] ?? "0") ?? 0;
  return (
    storageClassName === wantedClass &&
    size >= wanted &&
    (spec.volumeMode === undefined || spec.volumeMode === volumeMode) &&
    (spec.accessModes ?? []).every((mode) => accessModes.includes(mode))
  );
}
