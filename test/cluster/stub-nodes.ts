/**
 * Plays the nodes and the provisioner of a cluster that has a real API server and a real kube-controller-manager, but nothing
 * that could run a pod: volumes are made for claims that are ready for one, and workers end well as soon as their claims are
 * bound. So a test sees what the controller costs, and nothing else.
 */
import { setTimeout as pause } from "node:timers/promises";
import { ApiClient } from "../../controller/api-client.ts";
import type { CachedKind } from "../../controller/api/kinds.ts";
import type { Claim, KubeObject, Pod } from "../../controller/api/kube.ts";
import { ANNOTATIONS } from "../../controller/api/names.ts";
import { mountedClaims } from "../../controller/api/pods.ts";
import { ClusterCache } from "../../controller/cache.ts";
import { connect } from "../../controller/cluster.ts";
import { keyOf } from "../../controller/plan/action.ts";
import { reflect } from "../../controller/reflector.ts";
import { provisionedVolume } from "../support/provisioned-volume.ts";
import { silentLog } from "../support/silent-log.ts";
import type { ControlPlane } from "./control-plane.ts";
import { startProgram } from "./processes.ts";
import type { StartedProcess } from "./processes.ts";
import { clusterProgram } from "./programs.ts";

export interface StubNodes {
  /** Calls that failed. */
  readonly failures: readonly unknown[];
  stop(): Promise<void>;
}

/** Written by kube-controller-manager when somebody else is to make a volume. */
const PROVISIONER = "volume.kubernetes.io/storage-provisioner";
const MESSAGE = JSON.stringify({ preallocationApplied: false, message: "Import Complete" });

/** The parts of kube-controller-manager that an import needs: binding, protection of claims, garbage collection, accounts of pods. */
export async function startBinder({ kubeconfig }: ControlPlane, folder: string): Promise<StartedProcess> {
  const { path: command } = await clusterProgram("kube-controller-manager");
  const controllers = [
    "persistentvolume-binder-controller",
    "persistentvolumeclaim-protection-controller",
    "persistentvolume-protection-controller",
    "garbage-collector-controller",
    "serviceaccount-controller",
  ];
  const args = [
    `--kubeconfig=${kubeconfig}`,
    `--controllers=${controllers.join(",")}`,
    "--leader-elect=false",
    "--secure-port=0",
    "--kube-api-qps=500",
    "--kube-api-burst=1000",
  ];
  return await startProgram("kube-controller-manager", { command, args, folder, outlives: false });
}

export async function startStubNodes(kubeconfig: string): Promise<StubNodes> {
  const connection = await connect({ kubeconfig, env: {} });
  const client = new ApiClient(connection);
  const stopping = new AbortController();
  const failures: unknown[] = [];
  /** Done once for each object. */
  const done = new Set<string>();
  const cache: ClusterCache = new ClusterCache((kind, _, after) => {
    if (kind === "PersistentVolumeClaim" && after !== undefined) {
      const claim = after as Claim;
      provisionIfReady(claim);
      for (const pod of cache.pods.by("claim", `${claim.metadata.namespace}/${claim.metadata.name}`)) runIfBound(pod);
    } else if (kind === "Pod" && after !== undefined) {
      runIfBound(after as Pod);
      for (const claim of claimsOf(after as Pod, cache)) provisionIfReady(claim);
    }
  });

  function once(what: string, act: () => Promise<unknown>): void {
    if (done.has(what)) return;
    done.add(what);
    act().catch((error: unknown) => failures.push(error));
  }

  function provisionIfReady(claim: Claim): void {
    if (isReadyForVolume(claim, cache)) once(`volume of ${claim.metadata.uid}`, async () => await provision(claim));
  }

  function runIfBound(pod: Pod): void {
    const claims = claimsOf(pod, cache);
    const isReady = claims.length > 0 && claims.every(({ status }) => status?.phase === "Bound");
    if (isReady && pod.status?.phase === "Pending") once(`end of ${pod.metadata.uid}`, async () => await end(pod));
  }

  async function provision(claim: Claim): Promise<void> {
    const { metadata, spec, ...volume } = provisionedVolume(claim);
    const annotations = { "pv.kubernetes.io/provisioned-by": "stub" };
    await client.create({
      ...volume,
      metadata: { ...metadata, annotations },
      spec: { ...spec, hostPath: { path: "/nowhere" } },
    } as KubeObject);
  }

  async function end(pod: Pod): Promise<void> {
    const finishedAt = new Date().toISOString();
    const terminated = { exitCode: 0, reason: "Completed", message: MESSAGE, finishedAt };
    const containerStatuses = [
      { name: "importer", image: "", imageID: "", ready: false, restartCount: 0, state: { terminated } },
    ];
    const status = { phase: "Succeeded", containerStatuses };
    await client.patch(keyOf(pod), { status }, { uid: pod.metadata.uid ?? "" }, "status");
  }

  const { signal } = stopping;
  const log = silentLog();
  const sleep = async (ms: number): Promise<void> => await pause(ms, undefined, { ref: false });
  const kinds: readonly CachedKind[] = ["StorageClass", "PersistentVolumeClaim", "Pod"];
  const reflectors = kinds.map(async (kind) => {
    await reflect(kind, { client, cache, log, signal, sleep, onSynced: () => undefined });
  });
  return {
    failures,
    stop: async () => {
      stopping.abort();
      await Promise.all(reflectors);
      connection.close();
    },
  };
}

function claimsOf(pod: Pod, cache: ClusterCache): Claim[] {
  return mountedClaims(pod).flatMap((name) => cache.claims.get(pod.metadata.namespace, name) ?? []);
}

/** A first consumer counts as one that the scheduler has placed. */
function isReadyForVolume(claim: Claim, cache: ClusterCache): boolean {
  const { annotations = {}, namespace, name } = claim.metadata;
  if (claim.status?.phase !== "Pending" || claim.spec.dataSourceRef !== undefined) return false;
  if (annotations[PROVISIONER] !== undefined || annotations[ANNOTATIONS.selectedNode] !== undefined) return true;
  return cache.pods.by("claim", `${namespace}/${name}`).length > 0;
}
