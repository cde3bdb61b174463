/**
 * What is planned as one, and which of these units the change of an object concerns. A unit is a name, never an event: whoever
 * plans it looks at everything anew.
 */
import type { DataVolume, VolumeImportSource } from "./api/cdi.ts";
import type { CachedKind } from "./api/kinds.ts";
import type { Claim, KubeObject, Pod, Volume } from "./api/kube.ts";
import { CONFIG_NAME, DATA_VOLUME, NO_PROVISIONER, primeName } from "./api/names.ts";
import { controllerOf } from "./api/ownership.ts";
import { mountedClaims } from "./api/pods.ts";
import type { ClusterCache } from "./cache.ts";
import { fillPath } from "./plan/claim-to-fill.ts";
import { nameMeantFor } from "./plan/handover/promise.ts";
import { nameKey } from "./store.ts";

export type Unit =
  /** The DataVolume, or the claim, of this name. */
  | { readonly of: "import"; readonly namespace: string; readonly name: string }
  /** The StorageProfile of a StorageClass. */
  | { readonly of: "profile"; readonly name: string }
  /** A DataImportCron. */
  | { readonly of: "cron"; readonly namespace: string; readonly name: string }
  /** CDIConfig. */
  | { readonly of: "config" };

export const CONFIG_KEY = "config";

const PRIME_PREFIX = primeName("");
const SCRATCH_SUFFIX = "-scratch";

function importKey(namespace: string | undefined, name: string): string {
  return `import/${nameKey(namespace, name)}`;
}

function cronKey(namespace: string | undefined, name: string): string {
  return `cron/${nameKey(namespace, name)}`;
}

function profileKey(storageClass: string): string {
  return `profile/${storageClass}`;
}

export function unitOfKey(key: string): Unit {
  const [of, first = "", second = ""] = key.split("/");
  if (of === "import" || of === "cron") return { of, namespace: first, name: second };
  return of === "profile" ? { of, name: first } : { of: "config" };
}

/** True if it is a DataVolume that has no claim yet: all that comes of it is still to be made. */
export function isNewUnit(key: string, cache: ClusterCache): boolean {
  const unit = unitOfKey(key);
  if (unit.of !== "import") return false;
  const { namespace, name } = unit;
  return cache.dataVolumes.get(namespace, name) !== undefined && cache.claims.get(namespace, name) === undefined;
}

/** The keys of the units that have to be planned again. */
export function concernedUnits(
  kind: CachedKind,
  before: KubeObject | undefined,
  after: KubeObject | undefined,
  cache: ClusterCache,
): ReadonlySet<string> {
  const versions = [before, after].filter((object) => object !== undefined);
  return new Set(versions.flatMap((object) => unitsOf(kind, object, cache)));
}

function unitsOf(kind: CachedKind, object: KubeObject, cache: ClusterCache): readonly string[] {
  const { namespace, name } = object.metadata;
  switch (kind) {
    case "DataVolume":
      return [importKey(namespace, name)];
    case "PersistentVolumeClaim":
      return ofClaim(object as Claim, cache);
    case "Pod":
      return ofPod(object as Pod, cache);
    case "PersistentVolume":
      return ofVolume(object as Volume, cache);
    case "VolumeImportSource":
      return ofSource(object as VolumeImportSource, cache);
    case "StorageClass":
    case "StorageProfile":
      return [profileKey(name), CONFIG_KEY, ...waiting(cache)];
    case "CSIDriver":
      return [...allProfiles(cache), ...waiting(cache)];
    case "VolumeSnapshotClass":
      return allProfiles(cache);
    case "DataImportCron":
      return [cronKey(namespace, name)];
    case "CDI":
      return [CONFIG_KEY, ...waiting(cache)];
    case "CDIConfig":
      return name === CONFIG_NAME ? [CONFIG_KEY, ...waiting(cache)] : [];
    default:
      return kind satisfies never;
  }
}

/** A prime belongs to its target, scratch space to its worker's claim, any other claim to its own name. */
function ofClaim(claim: Claim, cache: ClusterCache): readonly string[] {
  const { namespace, name } = claim.metadata;
  const owner = controllerOf(claim);
  if (owner?.kind === "PersistentVolumeClaim") return [importKey(namespace, owner.name)];
  if (owner?.kind === "Pod") {
    const pod = cache.pods.get(namespace, owner.name);
    if (pod !== undefined) return ofPod(pod, cache, (one) => controllerOf(one)?.kind !== "Pod");
    // It outlives its pod for a while; a name that was too long for this has to wait until it is asked for again.
    return name.endsWith(SCRATCH_SUFFIX) ? ofClaimName(namespace, name.slice(0, -SCRATCH_SUFFIX.length), cache) : [];
  }
  return [importKey(namespace, name), ...ofPrimeName(name, cache)];
}

/** @param counts which of its claims are looked at: one that the pod itself owns leads back to the pod */
function ofPod(pod: Pod, cache: ClusterCache, counts: (claim: Claim) => boolean = () => true): readonly string[] {
  const { namespace } = pod.metadata;
  const owner = controllerOf(pod);
  const mounted = mountedClaims(pod);
  const names = owner?.kind === "PersistentVolumeClaim" ? [owner.name, ...mounted] : mounted;
  const counted = names.filter((name) => {
    const claim = cache.claims.get(namespace, name);
    return claim === undefined || counts(claim);
  });
  return counted.flatMap((name) => ofClaimName(namespace, name, cache));
}

function ofVolume(volume: Volume, cache: ClusterCache): readonly string[] {
  const { claimRef } = volume.spec;
  const keys = claimRef?.name === undefined ? [] : ofClaimName(claimRef.namespace, claimRef.name, cache);
  const meantFor = nameMeantFor(volume);
  const promised = meantFor === undefined ? [] : [importKey(meantFor.namespace, meantFor.name)];
  const available = volume.status?.phase === "Available" ? waiting(cache) : [];
  return [...keys, ...promised, ...available, ...ofVolumeClass(volume, cache)];
}

/** What a class without a provisioner offers is what its volumes are. */
function ofVolumeClass({ spec: { storageClassName = "" } }: Volume, cache: ClusterCache): readonly string[] {
  const storageClass = cache.storageClasses.get(undefined, storageClassName);
  return storageClass?.provisioner === NO_PROVISIONER ? [profileKey(storageClassName)] : [];
}

function allProfiles(cache: ClusterCache): readonly string[] {
  return [...cache.storageClasses.all()].map(({ metadata }) => profileKey(metadata.name));
}

function ofSource(source: VolumeImportSource, cache: ClusterCache): readonly string[] {
  const { namespace, name } = source.metadata;
  const claims = cache.claims.by("source", nameKey(namespace, name));
  const owner = controllerOf(source);
  const keys = claims.map(({ metadata }) => importKey(metadata.namespace, metadata.name));
  return owner?.kind === DATA_VOLUME ? [...keys, importKey(namespace, owner.name)] : keys;
}

function ofClaimName(namespace: string | undefined, name: string, cache: ClusterCache): readonly string[] {
  const claim = cache.claims.get(namespace, name);
  return claim === undefined ? [importKey(namespace, name), ...ofPrimeName(name, cache)] : ofClaim(claim, cache);
}

/** A prime that is gone, or one that somebody else made under its name. */
function ofPrimeName(name: string, cache: ClusterCache): readonly string[] {
  if (!name.startsWith(PRIME_PREFIX)) return [];
  const targets = cache.claims.by("uid", name.slice(PRIME_PREFIX.length));
  return targets.map(({ metadata }) => importKey(metadata.namespace, metadata.name));
}

/** Imports that may wait for what holds for all: those that have not ended, and claims to be filled that are not bound. */
function waiting(cache: ClusterCache): readonly string[] {
  const dataVolumes: DataVolume[] = [...cache.dataVolumes.all()].filter(({ status }) => status?.phase !== "Succeeded");
  const claims = [...cache.claims.all()].filter((claim) => {
    return claim.status?.phase === "Pending" && controllerOf(claim) === undefined && fillPath(claim) !== "none";
  });
  return [...dataVolumes, ...claims].map(({ metadata }) => importKey(metadata.namespace, metadata.name));
}
