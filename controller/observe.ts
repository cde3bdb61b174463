/**
 * From the cache to what a plan may know of one import: nothing is asked of the API server here, so that observing costs
 * nothing and two plans made at one moment see the same.
 */
import type { Claim, Pod, Volume } from "./api/kube.ts";
import { CONFIG_NAME, importSourceName, primeName, VOLUME_IMPORT_SOURCE, GROUP } from "./api/names.ts";
import type { DataVolume, VolumeImportSource } from "./api/cdi.ts";
import { isControlledBy } from "./api/ownership.ts";
import { hasEnded } from "./api/pods.ts";
import type { ClusterCache } from "./cache.ts";
import type { ClusterFacts, ControllerSettings, FoundCertificates, ObservedImport } from "./plan/observed.ts";
import { scratchName, workerName } from "./plan/worker/object-name.ts";
import { isWorkerOf } from "./plan/worker/worker-removal.ts";
import { nameKey } from "./store.ts";

/** What is known of an import that is no object in the cluster. */
export type Asides = Pick<ObservedImport, "pending" | "workerWarning" | "proxyCopy" | "rejected" | "progress">;

export interface ObserveOptions {
  readonly namespace: string;
  readonly name: string;
  readonly now: Date;
  readonly asides: Asides;
  readonly facts: ClusterFacts;
}

export function observe(cache: ClusterCache, options: ObserveOptions): ObservedImport {
  const { namespace, name, now, asides, facts } = options;
  const dataVolume = cache.dataVolumes.get(namespace, name);
  const target = cache.claims.get(namespace, name);
  const targetUid = target?.metadata.uid;
  const prime = targetUid === undefined ? undefined : cache.claims.get(namespace, primeName(targetUid));
  const filled = prime ?? target;
  const worker = filled === undefined ? undefined : workerOf(filled, cache);
  return {
    now,
    namespace,
    name,
    dataVolume,
    target,
    source: sourceOf(dataVolume, target, namespace, cache),
    prime,
    worker,
    orphans: orphansOf(namespace, name, target, cache),
    scratch: filled === undefined ? undefined : cache.claims.get(namespace, scratchName(filled.metadata.name)),
    volume: volumeOf(prime, target, cache),
    promised: cache.volumes.by("meantFor", nameKey(namespace, name)),
    users: filled === undefined ? [] : usersOf(filled, worker, cache),
    ...asides,
    cluster: facts,
  };
}

function sourceOf(
  dataVolume: DataVolume | undefined,
  target: Claim | undefined,
  namespace: string,
  cache: ClusterCache,
): VolumeImportSource | undefined {
  const reference = target?.spec.dataSourceRef;
  if (reference?.apiGroup === GROUP && reference.kind === VOLUME_IMPORT_SOURCE) {
    return cache.sources.get(namespace, reference.name);
  }
  const uid = dataVolume?.metadata.uid;
  return uid === undefined ? undefined : cache.sources.get(namespace, importSourceName(uid));
}

/** By the name that it is made with, which no annotation changes: a user may have written that. It may be of another claim. */
function workerOf({ metadata: { namespace, name } }: Claim, cache: ClusterCache): Pod | undefined {
  return cache.pods.get(namespace, workerName(name));
}

function orphansOf(namespace: string, name: string, target: Claim | undefined, cache: ClusterCache): readonly Pod[] {
  return cache.claims.by("target", nameKey(namespace, name)).flatMap((claim) => {
    const isCurrent = target !== undefined && isControlledBy(claim, target);
    const worker = isCurrent || claim.metadata.deletionTimestamp === undefined ? undefined : workerOf(claim, cache);
    return worker !== undefined && isWorkerOf(worker, claim) ? [worker] : [];
  });
}

function volumeOf(prime: Claim | undefined, target: Claim | undefined, cache: ClusterCache): Volume | undefined {
  const name = (prime?.spec.volumeName ?? "") === "" ? target?.spec.volumeName : prime?.spec.volumeName;
  return name === undefined || name === "" ? undefined : cache.volumes.get(undefined, name);
}

function usersOf({ metadata }: Claim, worker: Pod | undefined, cache: ClusterCache): readonly Pod[] {
  const pods = cache.pods.by("claim", nameKey(metadata.namespace, metadata.name));
  return pods.filter((pod) => pod.metadata.uid !== worker?.metadata.uid && !hasEnded(pod));
}

/** Read from the cache at the moment that a plan asks: most plans ask for two or three of them. */
export function clusterFacts(
  cache: ClusterCache,
  settings: ControllerSettings,
  certificates: { readonly found: FoundCertificates | undefined } = { found: undefined },
  isCrowded: () => boolean = () => false,
): ClusterFacts {
  return {
    get storageClasses() {
      return [...cache.storageClasses.all()];
    },
    get profiles() {
      return [...cache.profiles.all()];
    },
    get csiDrivers() {
      return [...cache.csiDrivers.all()];
    },
    get availableVolumes() {
      return cache.volumes.by("phase", "Available");
    },
    get config() {
      return cache.configs.get(undefined, CONFIG_NAME);
    },
    get cdi() {
      // One that is being deleted counts no more; of several, the oldest.
      const active = [...cache.cdis.all()].filter(({ metadata }) => metadata.deletionTimestamp === undefined);
      return active.sort((a, b) => compare(a.metadata.creationTimestamp, b.metadata.creationTimestamp))[0];
    },
    settings,
    get isCrowded() {
      return isCrowded();
    },
    get proxyCertificates() {
      return certificates.found;
    },
    get workers() {
      const byNode = cache.pods.counts("workerNode");
      return { total: [...byNode.values()].reduce((sum, count) => sum + count, 0), byNode };
    },
  };
}

function compare(a = "", b = ""): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
