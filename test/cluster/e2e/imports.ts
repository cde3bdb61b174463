/**
 * DataVolumes of one namespace of the test cluster: how a test makes them, what it waits for, and what it finds on the disk.
 */
import assert from "node:assert/strict";
import { createHash, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Condition, DataVolume, DataVolumeSource } from "../../../controller/api/cdi.ts";
import type { Claim, KubeObject, Pod, StringMap, VolumeMode } from "../../../controller/api/kube.ts";
import { API_VERSION, primeName } from "../../../controller/api/names.ts";
import type { Cluster } from "../cluster.ts";
import { runPod } from "../objects.ts";
import type { VolumeObject } from "../objects.ts";
import { CSI_IMMEDIATE } from "../storage.ts";

export interface ImportOptions {
  /** Default: csi-immediate. */
  readonly storageClass?: string;
  /** Of the disk; default: 32Mi. */
  readonly size?: string;
  /** Default: Filesystem. */
  readonly volumeMode?: VolumeMode;
  readonly annotations?: StringMap;
  readonly labels?: StringMap;
  /** More of the DataVolume's spec. */
  readonly spec?: { readonly [K in keyof DataVolume["spec"]]?: DataVolume["spec"][K] | undefined };
}

export interface EventObject extends KubeObject {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly involvedObject: { readonly kind: string; readonly name: string; readonly uid?: string };
}

/** For anything that needs a pod or two, on a busy machine. */
const PATIENCE_MS = 150_000;
const EVENT_PATIENCE_MS = 10_000;
const POLL_MS = 200;

export class Imports {
  readonly #cluster: Cluster;
  readonly namespace: string;

  constructor(cluster: Cluster, namespace: string) {
    this.#cluster = cluster;
    this.namespace = namespace;
  }

  async start(name: string, source: DataVolumeSource, options: ImportOptions = {}): Promise<void> {
    const { storageClass = CSI_IMMEDIATE, size = "32Mi", volumeMode = "Filesystem", spec } = options;
    const { annotations = {}, labels = {} } = options;
    const storage = {
      storageClassName: storageClass,
      accessModes: ["ReadWriteOnce"],
      volumeMode,
      resources: { requests: { storage: size } },
    };
    await this.#cluster.api.request("POST", this.#folder("datavolumes"), {
      apiVersion: API_VERSION,
      kind: "DataVolume",
      metadata: { name, annotations, labels },
      spec: { source, storage, ...spec },
    });
  }

  /** A Secret, a ConfigMap, a quota: whatever a test has beside its DataVolumes. */
  async create(plural: string, object: object): Promise<void> {
    await this.#cluster.api.request("POST", this.#folder(plural), object);
  }

  async patch(plural: string, name: string, patch: object): Promise<void> {
    await this.#cluster.api.request("PATCH", this.#place(plural, name), patch);
  }

  async remove(plural: string, name: string): Promise<void> {
    await this.#cluster.api.request("DELETE", this.#place(plural, name));
  }

  async untilGone(plural: string, name: string): Promise<void> {
    await this.#cluster.api.untilGone(this.#place(plural, name), PATIENCE_MS);
  }

  async get(name: string): Promise<DataVolume> {
    return await this.#cluster.api.get(this.#place("datavolumes", name));
  }

  async until(name: string, isReached: (dataVolume: DataVolume) => boolean): Promise<DataVolume> {
    return await this.#cluster.api.until<DataVolume>(
      this.#place("datavolumes", name),
      (found) => found !== undefined && isReached(found),
      PATIENCE_MS,
    );
  }

  async untilSucceeded(name: string): Promise<DataVolume> {
    return await this.until(name, ({ status }) => status?.phase === "Succeeded");
  }

  /** Until the condition says so. @returns the DataVolume as it is then */
  async untilSays(name: string, type: string, reason: string, message: RegExp): Promise<DataVolume> {
    const isSaid = (condition: Condition | undefined): boolean => {
      return condition?.status === "False" && condition.reason === reason && message.test(condition.message ?? "");
    };
    return await this.until(name, (found) => isSaid(conditionOf(found, type)));
  }

  /** The same of Running. */
  async untilStopped(name: string, reason: string, message: RegExp): Promise<DataVolume> {
    return await this.untilSays(name, "Running", reason, message);
  }

  async claim(name: string): Promise<Claim> {
    return await this.#cluster.api.get(this.#place("persistentvolumeclaims", name));
  }

  /** Until there is a claim as it should be. */
  async untilClaim(name: string, isReached: (claim: Claim) => boolean = () => true): Promise<Claim> {
    return await this.#cluster.api.until<Claim>(
      this.#place("persistentvolumeclaims", name),
      (found) => found !== undefined && isReached(found),
      PATIENCE_MS,
    );
  }

  /** Of a claim that is bound. */
  async volumeOf({ spec }: Claim): Promise<VolumeObject> {
    return await this.#cluster.api.get(`/api/v1/persistentvolumes/${spec.volumeName}`);
  }

  /** Of the claim that is filled in its place, once there is the one that it is for. */
  async primeName(name: string): Promise<string> {
    return primeName((await this.untilClaim(name)).metadata.uid ?? "");
  }

  /** The same of the pod that fills the one or the other. */
  async workerName(name: string): Promise<string> {
    return workerName(await this.untilClaim(name));
  }

  /** The worker pod that fills the claim or its prime, or undefined. */
  async worker(name: string): Promise<Pod | undefined> {
    const claim = await this.#cluster.api.find<Claim>(this.#place("persistentvolumeclaims", name));
    return claim && (await this.#cluster.api.find<Pod>(this.#place("pods", workerName(claim))));
  }

  /** Until there is a worker as it should be. */
  async untilWorker(name: string, isReached: (pod: Pod) => boolean = () => true): Promise<Pod> {
    const place = this.#place("pods", await this.workerName(name));
    return await this.#cluster.api.until<Pod>(place, (pod) => pod !== undefined && isReached(pod), PATIENCE_MS);
  }

  async all<T extends KubeObject>(plural: string): Promise<readonly T[]> {
    return (await this.#cluster.api.get<{ readonly items: readonly T[] }>(this.#folder(plural))).items;
  }

  /** Of the DataVolume, `type reason: message`, in their order. */
  async events(name: string): Promise<readonly string[]> {
    const { uid } = (await this.get(name)).metadata;
    const events = await this.all<EventObject>("events");
    const own = events.filter(({ involvedObject }) => involvedObject.uid === uid);
    const timeOf = (event: EventObject): string => event.metadata.creationTimestamp ?? "";
    const sorted = [...own].sort((a, b) => timeOf(a).localeCompare(timeOf(b)));
    return sorted.map(({ type, reason, message }) => `${type} ${reason}: ${message}`);
  }

  /** Until one begins with `start`, and the rest is as it should be. It is written after the status that it tells of. */
  async untilEvent(name: string, start: string, rest: RegExp = /(?:)/): Promise<void> {
    const deadline = Date.now() + EVENT_PATIENCE_MS;
    for (;;) {
      const events = await this.events(name);
      if (events.some((event) => event.startsWith(start) && rest.test(event.slice(start.length)))) return;
      assert.ok(Date.now() < deadline, `no ${start}${rest.source}:\n${events.join("\n")}`);
      await sleep(POLL_MS);
    }
  }

  /** Asserts that the claim's disk begins with these bytes, as a pod that mounts it finds it. */
  async holds(name: string, content: Uint8Array, file = "disk.img"): Promise<void> {
    const script = `head -c ${content.length} /data/${file} | sha256sum > /dev/termination-log`;
    const pod = `reads-${name}-${randomUUID().slice(0, 4)}`;
    const options = { script, folders: { "/data": name } };
    const { message } = await runPod(this.#cluster, this.namespace, pod, options, PATIENCE_MS);
    const digest = createHash("sha256").update(content).digest("hex");
    assert.equal(message.split(" ", 1)[0], digest, `${name} holds something else`);
  }

  #place(plural: string, name: string): string {
    return `${this.#folder(plural)}/${name}`;
  }

  #folder(plural: string): string {
    const isOurs = plural === "datavolumes" || plural === "volumeimportsources";
    const group = isOurs ? `/apis/${API_VERSION}` : "/api/v1";
    return `${group}/namespaces/${this.namespace}/${plural}`;
  }
}

function workerName({ metadata, spec }: Claim): string {
  return `importer-${spec.dataSourceRef === undefined ? metadata.name : primeName(metadata.uid ?? "")}`;
}

export function conditionOf({ status }: DataVolume, type: string): Condition | undefined {
  return status?.conditions?.find((condition) => condition.type === type);
}
