/**
 * A cluster in memory, as small as an import can live in: an API server with UIDs, resource versions and preconditions, and
 * the parts of Kubernetes that an import waits for (contract 10.3): provisioners, the binder of claims, the scheduler, a
 * kubelet whose workers succeed at once, protection of claims in use, and the garbage collector.
 *
 * It knows what is on each disk, and what became of disks that are gone: that is what its tests are about.
 */
import type { Claim, KubeObject, Pod, StorageClass, Volume } from "../../controller/api/kube.ts";
import { ANNOTATIONS } from "../../controller/api/names.ts";
import { hasEnded, isWorker, mountedClaims } from "../../controller/api/pods.ts";
import type { Action, ObjectKey } from "../../controller/plan/action.ts";
import { applyPatch, onlyChanges } from "../../controller/plan/draft.ts";
import { CSI_PROVISIONER } from "./observed-import.ts";

export type Change = Exclude<Action, { do: "event" | "again" }>;

/** What a worker has written so far. */
export type Content = "empty" | "half" | "image";

export interface Disk {
  readonly name: string;
  readonly content: Content;
  /** The claim that it was of, when it was destroyed. */
  readonly of: string | undefined;
  /** The claim that it was promised to. */
  readonly meantFor: string | undefined;
}

/** Another has changed, deleted or replaced it meanwhile. */
export class Conflict extends Error {}

type Mutable = KubeObject & { readonly spec?: unknown; readonly status?: unknown };

const NODE = "node-1";
const DONE = { exitCode: 0, reason: "Completed", message: '{"message":"Import Complete"}' };

export class ClusterModel {
  readonly destroyed: Disk[] = [];
  /** Of all that was ever created, `<kind> <name>`. */
  readonly created: string[] = [];
  /** Patches that changed nothing. */
  emptyPatches = 0;
  now = new Date("2026-09-01T12:00:00Z");

  readonly #objects = new Map<string, Mutable>();
  /** By the name of the volume. */
  readonly #disks = new Map<string, Content>();
  #version = 100;

  constructor(objects: readonly KubeObject[]) {
    for (const object of objects) this.#create(object);
  }

  all(): readonly KubeObject[] {
    return [...this.#objects.values()];
  }

  find<T extends KubeObject>(kind: T["kind"], name: string): T | undefined {
    return this.#ofKind<T>(kind).find(({ metadata }) => metadata.name === name);
  }

  contentOf(volumeName: string | undefined): Content | undefined {
    return volumeName === undefined ? undefined : this.#disks.get(volumeName);
  }

  /** @throws Conflict where a precondition does not hold */
  do(change: Change): void {
    if (change.do === "create") return this.#create(change.object);
    const found = this.#objects.get(keyText(change.object));
    if (change.do === "delete") {
      if (found?.metadata.uid !== change.uid) return;
      this.remove(found);
      return;
    }
    const { uid, resourceVersion, patch } = change;
    if (found === undefined || found.metadata.uid !== uid) throw new Conflict();
    if (resourceVersion !== undefined && resourceVersion !== found.metadata.resourceVersion) throw new Conflict();
    if (onlyChanges(found, patch) === undefined) this.emptyPatches++;
    this.#store(applyPatch(found, patch));
  }

  /** As a user does; what has to wait for others is marked, and goes when they have gone. */
  remove(object: KubeObject): void {
    const waits = object.kind === "Pod" ? isOnNode(object as Pod) : this.#isUsed(object);
    if (!waits) this.#objects.delete(keyText(object));
    else if (object.metadata.deletionTimestamp === undefined) {
      this.#store({ ...object, metadata: { ...object.metadata, deletionTimestamp: this.now.toISOString() } });
    }
  }

  /** Lets everybody but the controller do one thing; false: nobody has anything to do. */
  step(): boolean {
    this.now = new Date(this.now.getTime() + 1000);
    return this.#bind() || this.#provision() || this.#schedule() || this.#run() || this.#collect() || this.#reclaim();
  }

  #create(object: KubeObject): void {
    const key = keyText(object);
    // A fixed name makes two attempts one.
    if (this.#objects.has(key)) return;
    this.created.push(`${object.kind} ${object.metadata.name}`);
    const uid = object.metadata.uid ?? `uid-${++this.#version}`;
    const born = { status: { phase: "Pending" }, ...object };
    const hasStatus = object.kind === "PersistentVolumeClaim" || object.kind === "Pod";
    const metadata = { creationTimestamp: this.now.toISOString(), ...object.metadata, uid };
    this.#store({ ...(hasStatus ? born : object), metadata });
  }

  #store(object: Mutable): void {
    const metadata = { ...object.metadata, resourceVersion: String(++this.#version) };
    this.#objects.set(keyText(object), { ...object, metadata });
  }

  #patch(object: KubeObject, patch: Readonly<Record<string, unknown>>): true {
    this.#store(applyPatch(object, patch));
    return true;
  }

  #ofKind<T extends KubeObject>(kind: T["kind"]): T[] {
    return [...this.#objects.values()].filter((one): one is T & Mutable => one.kind === kind);
  }

  #claims(): Claim[] {
    return this.#ofKind<Claim>("PersistentVolumeClaim");
  }

  #volumes(): Volume[] {
    return this.#ofKind<Volume>("PersistentVolume");
  }

  #pods(): Pod[] {
    return this.#ofKind<Pod>("Pod");
  }

  #bind(): boolean {
    for (const claim of this.#claims()) {
      const { metadata, spec, status } = claim;
      if (status?.phase === "Bound") {
        const bound = this.find<Volume>("PersistentVolume", spec.volumeName ?? "");
        if (bound?.spec.claimRef?.uid !== metadata.uid) return this.#patch(claim, { status: { phase: "Lost" } });
        continue;
      }
      const reserved = this.#volumes().find((volume) => volume.spec.claimRef?.uid === metadata.uid);
      if (status?.phase !== "Pending" || reserved === undefined || metadata.deletionTimestamp !== undefined) continue;
      this.#patch(reserved, { status: { phase: "Bound" } });
      return this.#patch(claim, { spec: { volumeName: reserved.metadata.name }, status: { phase: "Bound" } });
    }
    return false;
  }

  /** A CSI provisioner leaves claims with a data source that it does not know alone; others do not. */
  #provision(): boolean {
    for (const claim of this.#claims()) {
      const { metadata, spec, status } = claim;
      const { provisioner, volumeBindingMode } = this.#classOf(claim);
      const node = metadata.annotations?.[ANNOTATIONS.selectedNode];
      if (status?.phase !== "Pending" || metadata.deletionTimestamp !== undefined) continue;
      if (provisioner === CSI_PROVISIONER && spec.dataSourceRef !== undefined) continue;
      if (volumeBindingMode === "WaitForFirstConsumer" && node === undefined) continue;
      const name = `pvc-${metadata.uid}`;
      if (this.find("PersistentVolume", name) !== undefined) continue;
      const { namespace = "", uid = "" } = metadata;
      const claimRef = { apiVersion: "v1", kind: claim.kind, namespace, name: metadata.name, uid };
      this.#disks.set(name, "empty");
      const made: Volume = {
        apiVersion: "v1",
        kind: "PersistentVolume",
        metadata: { name },
        spec: { claimRef, persistentVolumeReclaimPolicy: "Delete" },
      };
      this.#create(made);
      return true;
    }
    return false;
  }

  #schedule(): boolean {
    for (const pod of this.#pods()) {
      if (pod.spec.nodeName !== undefined) continue;
      for (const claim of this.#claimsOf(pod)) {
        const isWaiting = this.#classOf(claim).volumeBindingMode === "WaitForFirstConsumer";
        if (!isWaiting || claim.metadata.annotations?.[ANNOTATIONS.selectedNode] !== undefined) continue;
        return this.#patch(claim, { metadata: { annotations: { [ANNOTATIONS.selectedNode]: NODE } } });
      }
      if (this.#canStart(pod)) return this.#patch(pod, { spec: { nodeName: NODE } });
    }
    return false;
  }

  #run(): boolean {
    for (const pod of this.#pods()) {
      const { phase } = pod.status ?? {};
      if (!isOnNode(pod)) continue;
      if (pod.metadata.deletionTimestamp !== undefined) {
        this.#objects.delete(keyText(pod));
        return true;
      }
      if (phase === "Pending" && this.#canStart(pod)) {
        if (isWorker(pod)) this.#write(pod, "half");
        return this.#patch(pod, { status: { phase: "Running", containerStatuses: [container({ running: {} })] } });
      }
      // It may take days: whoever deletes its claim does not want to wait for it.
      const isWanted = this.#claimsOf(pod).every(({ metadata }) => metadata.deletionTimestamp === undefined);
      if (phase === "Running" && isWorker(pod) && isWanted) {
        this.#write(pod, "image");
        const terminated = { ...DONE, finishedAt: this.now.toISOString() };
        const status = { phase: "Succeeded", containerStatuses: [container({ terminated })] };
        return this.#patch(pod, { status });
      }
    }
    return false;
  }

  #write(pod: Pod, content: Content): void {
    for (const claim of this.#claimsOf(pod)) this.#disks.set(claim.spec.volumeName ?? "", content);
  }

  #collect(): boolean {
    const uids = new Set([...this.#objects.values()].map(({ metadata }) => metadata.uid));
    for (const object of this.#objects.values()) {
      const { deletionTimestamp, ownerReferences = [] } = object.metadata;
      const isOrphan = ownerReferences.length > 0 && !ownerReferences.some(({ uid }) => uids.has(uid));
      const isFree = deletionTimestamp !== undefined && object.kind !== "Pod" && !this.#isUsed(object);
      if (!isFree && (!isOrphan || deletionTimestamp !== undefined)) continue;
      this.remove(object);
      return true;
    }
    return false;
  }

  /** Two steps, as it is in Kubernetes: what is Released may still be saved. */
  #reclaim(): boolean {
    const uids = new Set(this.#claims().map(({ metadata }) => metadata.uid));
    for (const volume of this.#volumes()) {
      const { claimRef, persistentVolumeReclaimPolicy } = volume.spec;
      if (claimRef?.uid === undefined || uids.has(claimRef.uid)) continue;
      if (volume.status?.phase !== "Released") return this.#patch(volume, { status: { phase: "Released" } });
      if (persistentVolumeReclaimPolicy !== "Delete") continue;
      const { name } = volume.metadata;
      const meantFor = volume.metadata.annotations?.[ANNOTATIONS.meantFor];
      this.destroyed.push({ name, content: this.#disks.get(name) ?? "empty", of: claimRef.uid, meantFor });
      this.#disks.delete(name);
      this.#objects.delete(keyText(volume));
      return true;
    }
    return false;
  }

  #claimsOf(pod: Pod): Claim[] {
    const names = mountedClaims(pod);
    return this.#claims().filter(({ metadata }) => names.includes(metadata.name));
  }

  #canStart(pod: Pod): boolean {
    const claims = this.#claimsOf(pod);
    return claims.length === mountedClaims(pod).length && claims.every(({ status }) => status?.phase === "Bound");
  }

  /** By a pod that was ever on a node: also one that has ended holds its claims until it is deleted. */
  #isUsed({ kind, metadata }: KubeObject): boolean {
    if (kind !== "PersistentVolumeClaim") return false;
    return this.#pods().some((pod) => {
      const isScheduled = pod.spec.nodeName !== undefined;
      return isScheduled && this.#claimsOf(pod).some((one) => one.metadata.uid === metadata.uid);
    });
  }

  #classOf({ spec }: Claim): Partial<StorageClass> {
    return this.find<StorageClass>("StorageClass", spec.storageClassName ?? "") ?? {};
  }
}

function isOnNode(pod: Pod): boolean {
  return pod.spec.nodeName !== undefined && !hasEnded(pod);
}

function container(state: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return { name: "importer", restartCount: 0, state };
}

function keyText({ kind, ...rest }: KubeObject | ObjectKey): string {
  const { namespace = "", name } = "metadata" in rest ? rest.metadata : rest;
  return `${kind}/${namespace}/${name}`;
}
