/**
 * Whether the target is filled through a populator or in place (contract 4.1). A provisioner that does not know what a
 * dataSourceRef is binds an empty volume at once, so the populator path is for CSI provisioners alone.
 */
import type { DataVolume } from "../../api/cdi.ts";
import { parseGoBool } from "../../api/go-bool.ts";
import type { ClaimSpec } from "../../api/kube.ts";
import { ANNOTATIONS } from "../../api/names.ts";
import { annotationsOf } from "../draft.ts";
import type { ClusterFacts } from "../observed.ts";
import { findClass } from "../storage-class.ts";

export type PopulatorChoice =
  | { readonly usePopulator: boolean }
  | { readonly refused: { readonly reason: string; readonly message: string } };

/** The DataVolume's annotation decides where there is one, so that a choice once made stays. */
export function choosePopulator(dataVolume: DataVolume, spec: ClaimSpec, facts: ClusterFacts): PopulatorChoice {
  const annotation = annotationsOf(dataVolume)[ANNOTATIONS.usePopulator];
  const isCsi = hasCsiDriver(spec, facts);
  if (annotation === undefined) return { usePopulator: isCsi };
  const usePopulator = parseGoBool(annotation);
  if (usePopulator === undefined) {
    const message = `Annotation ${ANNOTATIONS.usePopulator} must be true or false, not ${annotation.slice(0, 100)}`;
    return { refused: { reason: "ErrClaimNotValid", message } };
  }
  if (!usePopulator || isCsi) return { usePopulator };
  const message = `Annotation ${ANNOTATIONS.usePopulator} is true, but ${describeClass(spec, facts)}: the claim would be bound to an empty volume`;
  return { refused: { reason: "NoCSIDriverForPopulator", message } };
}

/** A CSIDriver is named like its provisioner. */
function hasCsiDriver({ storageClassName }: ClaimSpec, facts: ClusterFacts): boolean {
  const provisioner = findClass(facts, storageClassName)?.provisioner;
  return facts.csiDrivers.some(({ metadata }) => metadata.name === provisioner);
}

export function describeClass({ storageClassName }: ClaimSpec, facts: ClusterFacts): string {
  const found = findClass(facts, storageClassName);
  if (found !== undefined) return `storage class ${found.metadata.name} has no CSIDriver ${found.provisioner}`;
  if (storageClassName === undefined) return "there is no default storage class";
  return storageClassName === "" ? "the claim has no storage class" : `there is no storage class ${storageClassName}`;
}
