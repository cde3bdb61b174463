/**
 * All that the controller knows of the cluster, kept up to date from two sides: by watches, and by the answers to its own
 * writes, so that a plan made right after a write sees it. Of two versions of an object the newer one stays, whichever way it
 * came; what is deleted stays deleted, though the answer to an earlier write may arrive after the news of the deletion.
 */
import { CACHED_KINDS, isCachedKind } from "./api/kinds.ts";
import type { CachedKind, CachedKinds } from "./api/kinds.ts";
import type { Claim, KubeObject, Pod, Volume } from "./api/kube.ts";
import type { DataVolume, VolumeImportSource } from "./api/cdi.ts";
import { GROUP, VOLUME_IMPORT_SOURCE } from "./api/names.ts";
import { controllerOf } from "./api/ownership.ts";
import { hasEnded, isWorker, mountedClaims } from "./api/pods.ts";
import { keepNewest } from "./keep-newest.ts";
import { nameMeantFor } from "./plan/handover/promise.ts";
import { Store, nameKey } from "./store.ts";
import type { Indexer } from "./store.ts";
import { trim } from "./trim.ts";

/** Undefined before: it is new. Undefined after: it is gone. */
export type ChangeListener = (kind: CachedKind, before: KubeObject | undefined, after: KubeObject | undefined) => void;

/** Deleted objects that are remembered, so that old news does not bring them back. */
const MAX_REMEMBERED_DELETIONS = 20_000;

const byUid: Indexer<KubeObject> = ({ metadata }) => (metadata.uid === undefined ? [] : [metadata.uid]);
const byOwner: Indexer<KubeObject> = ({ metadata }) => (metadata.ownerReferences ?? []).map(({ uid }) => uid);

const CLAIM_INDEXES = {
  uid: byUid as Indexer<Claim>,
  owner: byOwner as Indexer<Claim>,
  /** Namespace and name of the VolumeImportSource that fills it. */
  source: ({ metadata, spec: { dataSourceRef: from } }: Claim) => {
    const isImport = from?.apiGroup === GROUP && from.kind === VOLUME_IMPORT_SOURCE;
    return isImport ? [nameKey(metadata.namespace, from.name)] : [];
  },
  /** Namespace and name of the claim that it is filled for. */
  target: (claim: Claim) => {
    const owner = controllerOf(claim);
    return owner?.kind === "PersistentVolumeClaim" ? [nameKey(claim.metadata.namespace, owner.name)] : [];
  },
};

const POD_INDEXES = {
  owner: byOwner as Indexer<Pod>,
  /** Namespace and name of the claims that it mounts. */
  claim: (pod: Pod) => mountedClaims(pod).map((name) => nameKey(pod.metadata.namespace, name)),
  /** Workers that have not ended, by their node; "" before they have one. */
  workerNode: (pod: Pod) => (isWorker(pod) && !hasEnded(pod) ? [pod.spec.nodeName ?? ""] : []),
};

const VOLUME_INDEXES = {
  /** Namespace and name of the claim that it is for. */
  claim: ({ spec: { claimRef } }: Volume) => {
    return claimRef?.name === undefined ? [] : [nameKey(claimRef.namespace, claimRef.name)];
  },
  /** Namespace and name of the import whose disk it holds. */
  meantFor: (volume: Volume) => {
    const target = nameMeantFor(volume);
    return target === undefined ? [] : [nameKey(target.namespace, target.name)];
  },
  phase: ({ status }: Volume) => (status?.phase === undefined ? [] : [status.phase]),
};

export class ClusterCache {
  readonly claims = new Store<Claim, keyof typeof CLAIM_INDEXES>(CLAIM_INDEXES);
  readonly pods = new Store<Pod, keyof typeof POD_INDEXES>(POD_INDEXES);
  readonly volumes = new Store<Volume, keyof typeof VOLUME_INDEXES>(VOLUME_INDEXES);
  readonly dataVolumes = new Store<DataVolume, never>({});
  readonly sources = new Store<VolumeImportSource, never>({});
  readonly storageClasses = new Store<CachedKinds["StorageClass"], never>({});
  readonly profiles = new Store<CachedKinds["StorageProfile"], never>({});
  readonly csiDrivers = new Store<CachedKinds["CSIDriver"], never>({});
  readonly configs = new Store<CachedKinds["CDIConfig"], never>({});
  readonly snapshotClasses = new Store<CachedKinds["VolumeSnapshotClass"], never>({});
  readonly cdis = new Store<CachedKinds["CDI"], never>({});
  readonly crons = new Store<CachedKinds["DataImportCron"], never>({});

  readonly #stores = {
    CDI: this.cdis,
    CDIConfig: this.configs,
    CSIDriver: this.csiDrivers,
    DataImportCron: this.crons,
    DataVolume: this.dataVolumes,
    PersistentVolume: this.volumes,
    PersistentVolumeClaim: this.claims,
    Pod: this.pods,
    StorageClass: this.storageClasses,
    StorageProfile: this.profiles,
    VolumeImportSource: this.sources,
    VolumeSnapshotClass: this.snapshotClasses,
  } as unknown as Readonly<Record<CachedKind, AnyStore>>;
  readonly #deleted = new Set<string>();
  readonly #onChange: ChangeListener;

  constructor(onChange: ChangeListener = () => undefined) {
    this.#onChange = onChange;
  }

  /** How many objects of each kind there are. */
  sizes(): Readonly<Record<string, number>> {
    return Object.fromEntries(Object.entries(this.#stores).map(([kind, { size }]) => [kind, size]));
  }

  *everything(): Generator<readonly [CachedKind, KubeObject]> {
    for (const [kind, store] of Object.entries(this.#stores)) {
      for (const object of store.all()) yield [kind as CachedKind, object];
    }
  }

  /** An object as a watch or the answer to a write shows it; of kinds that are not kept, nothing is. */
  apply(object: KubeObject): void {
    if (!isCachedKind(object.kind) || CACHED_KINDS[object.kind].apiVersion !== object.apiVersion) return;
    const { namespace, name, uid, resourceVersion } = object.metadata;
    if (uid === undefined || this.#deleted.has(uid)) return;
    const store = this.#stores[object.kind];
    const before = store.get(namespace, name);
    if (before !== undefined && !isNewer(resourceVersion, before.metadata.resourceVersion)) return;
    const after = trim(object.kind, object);
    if (after !== undefined) store.set(after);
    else if (before === undefined) return;
    else store.remove(namespace, name);
    this.#onChange(object.kind, before, after);
  }

  /** It is gone, whoever deleted it. */
  forget({ kind, metadata: { namespace, name, uid } }: KubeObject): void {
    if (!isCachedKind(kind) || uid === undefined) return;
    this.#rememberDeletion(uid);
    const before = this.#stores[kind].get(namespace, name);
    if (before?.metadata.uid !== uid) return;
    this.#stores[kind].remove(namespace, name);
    this.#onChange(kind, before, undefined);
  }

  /** Everything of a kind, as it was listed: what is not among it is gone, unless it is younger than the list. */
  replace(kind: CachedKind, items: readonly KubeObject[], resourceVersion: string): void {
    const store = this.#stores[kind];
    const listed = new Set(items.map(({ metadata }) => metadata.uid));
    for (const object of store.all()) {
      const isYounger = resourceVersion !== "" && isNewer(object.metadata.resourceVersion, resourceVersion);
      if (!isYounger && !listed.has(object.metadata.uid)) this.forget(object);
    }
    for (const object of items) this.apply(object);
  }

  #rememberDeletion(uid: string): void {
    this.#deleted.add(uid);
    keepNewest(this.#deleted, MAX_REMEMBERED_DELETIONS);
  }
}

interface AnyStore {
  readonly size: number;
  get(namespace: string | undefined, name: string): KubeObject | undefined;
  all(): IterableIterator<KubeObject>;
  set(object: KubeObject): void;
  remove(namespace: string | undefined, name: string): void;
}

/** resourceVersions are whole numbers, written in decimal, and may have more digits than a number holds. */
function isNewer(version: string | undefined, than: string | undefined): boolean {
  if (version === undefined || than === undefined) return true;
  return version.length === than.length ? version > than : version.length > than.length;
}
