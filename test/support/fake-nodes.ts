/**
 * The rest of a cluster around a FakeApiServer, as far as an import needs it: the binder, a provisioner, the protection of
 * claims in use, the garbage collector, and a kubelet on which workers end as a script says. After every change each of them
 * looks at everything, so the order of events is always the same.
 *
 * It also keeps the books of what must never be lost: which volumes hold a disk, and which of these were destroyed.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Claim, OwnerReference, Pod } from "../../controller/api/kube.ts";
import { mountedClaims } from "../../controller/api/pods.ts";
import type { FakeApiServer, Stored } from "./fake-api-server.ts";
import { provisionedVolume } from "./provisioned-volume.ts";

export interface FakeNodesOptions {
  /** False: its containers wait for something that they mount. */
  readonly startsPods?: () => boolean;
  /** The termination message and exit code of the next run of a worker; undefined: it goes on running. */
  readonly endOf?: (pod: Stored) => { readonly exitCode: number; readonly message: string } | undefined;
  /** One thing at a time, each when the controller has nothing more to say to the one before. */
  readonly isPatient?: boolean;
}

const GOOD_END = { exitCode: 0, message: JSON.stringify({ preallocationApplied: false, message: "Import Complete" }) };
const NODE = "node-1";
const PROTECTION = "kubernetes.io/pvc-protection";
/** Of the event loop, without a call: whoever has read of a change would have made his by then. */
const QUIET_TURNS = 100;

export class FakeNodes {
  /** Names of volumes that hold a whole disk. */
  readonly filled = new Set<string>();
  /** Those of them that were destroyed, with the claim that they were of. */
  readonly destroyed: string[] = [];
  readonly #server: FakeApiServer;
  readonly #endOf: NonNullable<FakeNodesOptions["endOf"]>;
  readonly #startsPods: () => boolean;
  readonly #isPatient: boolean;
  #isDue = false;
  #changes = 0;

  constructor(server: FakeApiServer, options: FakeNodesOptions = {}) {
    const { startsPods = () => true, endOf = () => GOOD_END, isPatient = false } = options;
    this.#server = server;
    this.#startsPods = startsPods;
    this.#endOf = endOf;
    this.#isPatient = isPatient;
    server.finalizersOf = (kind) => (kind === "PersistentVolumeClaim" ? [PROTECTION] : undefined);
    server.onChange = () => {
      this.#changes++;
      if (!this.#isDue) void this.#act();
    };
  }

  async #act(): Promise<void> {
    this.#isDue = true;
    await (this.#isPatient ? this.#untilQuiet() : nextTurn());
    this.#isDue = false;
    for (const part of this.#parts()) {
      const before = this.#changes;
      part();
      if (this.#isPatient && this.#changes > before) return;
    }
  }

  async #untilQuiet(): Promise<void> {
    let calls = -1;
    for (let turns = 0; turns < QUIET_TURNS; turns++) {
      await nextTurn();
      if (this.#server.calls.length === calls) continue;
      calls = this.#server.calls.length;
      turns = 0;
    }
  }

  *#parts(): Generator<() => void> {
    const each = (kind: string, act: (object: Stored) => void) => this.#server.all(kind).map((one) => () => act(one));
    yield () => this.#server.all("CustomResourceDefinition").forEach((crd) => this.#serveKind(crd));
    yield () => this.#collectGarbage();
    yield* each("PersistentVolumeClaim", (claim) => this.#unprotect(claim));
    yield* each("PersistentVolume", (volume) => this.#releaseVolume(volume));
    yield* each("PersistentVolumeClaim", (claim) => this.#bindClaim(claim));
    yield* each("Pod", (pod) => this.#runPod(pod));
  }

  #serveKind(crd: Stored): void {
    if (crd["status"] !== undefined) return;
    this.#server.update(crd, { status: { conditions: [{ type: "Established", status: "True" }] } });
  }

  #collectGarbage(): void {
    const objects = ["Pod", "PersistentVolumeClaim", "VolumeImportSource", "DataVolume"].flatMap((kind) => {
      return this.#server.all(kind);
    });
    const uids = new Set(objects.map(({ metadata }) => metadata.uid));
    for (const object of objects) {
      const owners: readonly OwnerReference[] = object.metadata.ownerReferences ?? [];
      const isOrphan = owners.length > 0 && owners.every(({ uid }) => !uids.has(uid));
      if (isOrphan && object.metadata.deletionTimestamp === undefined) this.#server.delete(object);
    }
  }

  /** Whoever mounts a claim holds it, also when he has ended. */
  #unprotect(claim: Stored): void {
    const { name, deletionTimestamp, finalizers = [] } = claim.metadata;
    if (deletionTimestamp === undefined || !finalizers.includes(PROTECTION)) return;
    const isUsed = this.#server.all("Pod").some((pod) => {
      return pod["spec"].nodeName !== undefined && mountedClaims(pod as Pod).includes(name);
    });
    if (!isUsed) this.#finish(claim, PROTECTION);
  }

  #finish(object: Stored, finalizer: string): void {
    const finalizers = object.metadata.finalizers?.filter((one) => one !== finalizer);
    this.#server.patch(object, { metadata: { finalizers } });
  }

  /** A volume whose claim is gone is released, and with the policy Delete destroyed. */
  #releaseVolume(volume: Stored): void {
    const { claimRef, persistentVolumeReclaimPolicy: policy } = volume["spec"] as Spec;
    if (claimRef === undefined) return;
    const claim = this.#server.find("PersistentVolumeClaim", claimRef.name ?? "", claimRef.namespace);
    if (claim !== undefined && claim.metadata.uid === claimRef.uid) return;
    const { name } = volume.metadata;
    if (policy === "Delete") {
      if (this.filled.delete(name)) this.destroyed.push(`${name} of ${claimRef.name}`);
      this.#server.delete(volume);
    } else if (volume["status"]?.phase !== "Released") this.#server.update(volume, { status: { phase: "Released" } });
  }

  #bindClaim(claim: Stored): void {
    const { namespace, name, uid } = claim.metadata;
    const spec = claim["spec"] as Spec;
    if (spec.volumeName !== undefined) {
      const volume = this.#server.find("PersistentVolume", spec.volumeName);
      const isIts = (volume?.["spec"] as Spec | undefined)?.claimRef?.uid === uid;
      if (!isIts && claim["status"].phase === "Bound") this.#server.update(claim, { status: { phase: "Lost" } });
      return;
    }
    const reserved = this.#server.all("PersistentVolume").find((one) => {
      const { claimRef } = one["spec"] as Spec;
      return claimRef?.uid === uid && claimRef?.name === name && claimRef?.namespace === namespace;
    });
    const volume =
      reserved ?? (this.#mayProvision(claim) ? this.#server.create(provisionedVolume(claim as Claim)) : undefined);
    if (volume === undefined) return;
    this.#server.update(volume, { status: { phase: "Bound" } });
    const capacity = (volume["spec"] as Spec).capacity;
    this.#server.update(claim, { spec: { volumeName: volume.metadata.name }, status: { phase: "Bound", capacity } });
  }

  #mayProvision(claim: Stored): boolean {
    const spec = claim["spec"] as Spec;
    if (spec.dataSourceRef !== undefined) return false;
    const storageClass = this.#server.find("StorageClass", spec.storageClassName ?? "");
    if (storageClass === undefined) return false;
    if (storageClass["volumeBindingMode"] !== "WaitForFirstConsumer") return true;
    if (claim.metadata.annotations?.["volume.kubernetes.io/selected-node"] !== undefined) return true;
    return this.#server.all("Pod").some((pod) => mountedClaims(pod as Pod).includes(claim.metadata.name));
  }

  /** Pending, Running, ended: a step for each change that somebody makes. */
  #runPod(pod: Stored): void {
    const { phase, containerStatuses } = pod["status"];
    const claims = mountedClaims(pod as Pod).map((name) =>
      this.#server.find("PersistentVolumeClaim", name, pod.metadata.namespace),
    );
    const restartCount: number = containerStatuses?.[0]?.restartCount ?? 0;
    const status = (state: object, lastState: object = {}) => [{ name: "importer", restartCount, state, lastState }];
    if (phase === "Pending") {
      if (claims.some((claim) => claim?.["status"].phase !== "Bound")) return;
      if (!this.#startsPods()) {
        const waiting = status({ waiting: { reason: "ContainerCreating" } });
        if (containerStatuses === undefined) this.#server.update(pod, { status: { containerStatuses: waiting } });
        return;
      }
      const running = { phase: "Running", containerStatuses: status({ running: {} }) };
      this.#server.update(pod, { spec: { nodeName: NODE }, status: running });
    } else if (phase === "Running") {
      // As a kubelet has it: first the container, then the pod.
      if (containerStatuses?.[0]?.state?.terminated !== undefined) {
        this.#server.update(pod, { status: { phase: "Succeeded" } });
        return;
      }
      const end = this.#endOf(pod);
      if (end === undefined) return;
      const volumes = claims.flatMap((claim) => (claim?.["spec"] as Spec | undefined)?.volumeName ?? []);
      if (end.exitCode === 0) for (const volume of volumes) this.filled.add(volume);
      const reason = end.exitCode === 0 ? "Completed" : "Error";
      const terminated = { ...end, reason, finishedAt: new Date().toISOString() };
      this.#server.update(pod, { status: { containerStatuses: status({ terminated }) } });
    }
  }
}

interface Spec {
  readonly volumeName?: string;
  readonly storageClassName?: string;
  readonly capacity?: object;
  readonly dataSourceRef?: object;
  readonly persistentVolumeReclaimPolicy?: string;
  readonly claimRef?: { readonly namespace?: string; readonly name?: string; readonly uid?: string };
}
