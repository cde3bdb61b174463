/**
 * The spec of the target claim: `spec.pvc` as it stands, or `spec.storage` with its gaps filled in from the storage class and
 * its profile (contract 3.1 to 3.3), and its size made large enough for the disk (3.4).
 */
import type { ContentType, DataVolume, StorageSpec } from "../../api/cdi.ts";
import type { ClaimSpec, StorageClass } from "../../api/kube.ts";
import { ANNOTATIONS } from "../../api/names.ts";
import { defined } from "../defined.ts";
import { annotationsOf } from "../draft.ts";
import type { ClusterFacts } from "../observed.ts";
import { defaultClass, findClass } from "../storage-class.ts";
import { chooseProperties, forContent } from "./claim-properties.ts";
import type { ChosenProperties } from "./claim-properties.ts";
import { claimSize } from "./claim-size.ts";
import { firstAvailableVolume } from "./static-volumes.ts";

/** The spec, or a sentence that says why there is none. */
export type RenderedClaim = { readonly spec: ClaimSpec } | { readonly refused: string };

export function renderClaim(dataVolume: DataVolume, facts: ClusterFacts): RenderedClaim {
  const { pvc, storage } = dataVolume.spec;
  if (pvc !== undefined) return { spec: pvc };
  if (storage === undefined) return { refused: "neither spec.pvc nor spec.storage is given" };
  const contentType = contentTypeOf(dataVolume);
  const name = storage.storageClassName;
  const found = name === undefined ? defaultClass(facts, contentType) : findClass(facts, name);
  const properties =
    found === undefined
      ? propertiesWithoutClass(dataVolume, storage, facts)
      : propertiesOfClass(storage, contentType, found, facts);
  if ("refused" in properties) return properties;
  const className = found?.metadata.name ?? name;
  const spec: ClaimSpec = defined({
    ...storage,
    accessModes: properties.accessModes,
    volumeMode: properties.volumeMode,
    storageClassName: className,
  });
  const size = claimSize(facts, spec, annotationsOf(profileOf(found, facts))[ANNOTATIONS.minimumSupportedSize]);
  if ("refused" in size) return size;
  const { resources } = storage;
  return {
    spec: { ...spec, resources: { ...resources, requests: { ...resources?.requests, storage: size.request } } },
  };
}

export function contentTypeOf({ spec }: DataVolume): ContentType {
  return spec.contentType === "archive" ? "archive" : "kubevirt";
}

function propertiesOfClass(
  { accessModes, volumeMode }: StorageSpec,
  contentType: ContentType,
  found: StorageClass,
  facts: ClusterFacts,
): ChosenProperties {
  const status = profileOf(found, facts)?.status;
  const sets = status === undefined ? undefined : (status.claimPropertySets ?? []);
  return chooseProperties({ accessModes, volumeMode, contentType }, found.metadata.name, sets);
}

/** A class without an object is that of volumes made by hand; they say what they are (contract 3.2, the fourth step). */
function propertiesWithoutClass(dataVolume: DataVolume, storage: StorageSpec, facts: ClusterFacts): ChosenProperties {
  const { accessModes, volumeMode, storageClassName } = storage;
  const { namespace = "", name } = dataVolume.metadata;
  const asked = forContent({ accessModes, volumeMode, contentType: contentTypeOf(dataVolume) });
  if ("refused" in asked) return asked;
  const volume =
    storageClassName === undefined
      ? undefined
      : firstAvailableVolume(facts, namespace, name, defined({ ...storage, ...asked }));
  const modes = asked.accessModes.length > 0 ? asked.accessModes : (volume?.spec.accessModes ?? []);
  if (modes.length > 0) return { accessModes: modes, volumeMode: asked.volumeMode ?? volume?.spec.volumeMode };
  const place =
    storageClassName === undefined
      ? "there is no default storage class"
      : `there is no storage class ${storageClassName}, nor an available volume of it that fits`;
  return { refused: `no accessModes are given, and ${place}` };
}

function profileOf(found: StorageClass | undefined, { profiles }: ClusterFacts) {
  return found === undefined ? undefined : profiles.find(({ metadata }) => metadata.name === found.metadata.name);
}
