/**
 * The kinds of objects that the controller speaks of to the API server: where each has its address, and its type here.
 */
import type { Cdi, CdiConfig, DataImportCron, DataVolume, StorageProfile, VolumeImportSource } from "./cdi.ts";
import type { Claim, CsiDriver, KubeObject, Pod, StorageClass, Volume } from "./kube.ts";
import type { SnapshotClass } from "../plan/cluster/profile.ts";
import { API_VERSION } from "./names.ts";

/** Kinds of which the controller keeps every object in memory. */
export interface CachedKinds {
  readonly CDI: Cdi;
  readonly CDIConfig: CdiConfig;
  readonly CSIDriver: CsiDriver;
  readonly DataImportCron: DataImportCron;
  readonly DataVolume: DataVolume;
  readonly PersistentVolume: Volume;
  readonly PersistentVolumeClaim: Claim;
  readonly Pod: Pod;
  readonly StorageClass: StorageClass;
  readonly StorageProfile: StorageProfile;
  readonly VolumeImportSource: VolumeImportSource;
  /** Not there in every cluster. */
  readonly VolumeSnapshotClass: SnapshotClass;
}

export type CachedKind = keyof CachedKinds;

export interface Kind {
  readonly apiVersion: string;
  readonly kind: string;
  /** As in its address. */
  readonly plural: string;
  readonly namespaced: boolean;
}

const kind = (apiVersion: string, name: string, plural: string, namespaced = true): Kind => {
  return { apiVersion, kind: name, plural, namespaced };
};

export const CACHED_KINDS: Readonly<Record<CachedKind, Kind>> = {
  CDI: kind(API_VERSION, "CDI", "cdis", false),
  CDIConfig: kind(API_VERSION, "CDIConfig", "cdiconfigs", false),
  CSIDriver: kind("storage.k8s.io/v1", "CSIDriver", "csidrivers", false),
  DataImportCron: kind(API_VERSION, "DataImportCron", "dataimportcrons"),
  DataVolume: kind(API_VERSION, "DataVolume", "datavolumes"),
  PersistentVolume: kind("v1", "PersistentVolume", "persistentvolumes", false),
  PersistentVolumeClaim: kind("v1", "PersistentVolumeClaim", "persistentvolumeclaims"),
  Pod: kind("v1", "Pod", "pods"),
  StorageClass: kind("storage.k8s.io/v1", "StorageClass", "storageclasses", false),
  StorageProfile: kind(API_VERSION, "StorageProfile", "storageprofiles", false),
  VolumeImportSource: kind(API_VERSION, "VolumeImportSource", "volumeimportsources"),
  VolumeSnapshotClass: kind("snapshot.storage.k8s.io/v1", "VolumeSnapshotClass", "volumesnapshotclasses", false),
};

export const EVENT = kind("v1", "Event", "events");
export const LEASE = kind("coordination.k8s.io/v1", "Lease", "leases");
export const CUSTOM_RESOURCE_DEFINITION = kind(
  "apiextensions.k8s.io/v1",
  "CustomResourceDefinition",
  "customresourcedefinitions",
  false,
);
export const CONFIG_MAP = kind("v1", "ConfigMap", "configmaps");

const KINDS = [...Object.values(CACHED_KINDS), EVENT, LEASE, CUSTOM_RESOURCE_DEFINITION, CONFIG_MAP];

export function isCachedKind(name: string): name is CachedKind {
  return Object.hasOwn(CACHED_KINDS, name);
}

/** @throws Error for a kind that is not in this file */
export function kindOf(object: Pick<KubeObject, "apiVersion" | "kind">): Kind {
  const found = KINDS.find((one) => one.kind === object.kind && one.apiVersion === object.apiVersion);
  if (found === undefined) throw new Error(`the controller knows no kind ${object.apiVersion} ${object.kind}`);
  return found;
}

/** @param namespace undefined: of all namespaces, or of the cluster */
export function addressOf({ apiVersion, plural, namespaced }: Kind, namespace?: string, name?: string): string {
  const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const where = namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${root}${where}/${plural}${name === undefined ? "" : `/${encodeURIComponent(name)}`}`;
}
