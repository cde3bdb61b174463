/**
 * Starts a whole Kubernetes on this machine, and stops it: etcd, API server, controller manager, scheduler, two nodes,
 * provisioners. It outlives the process that started it; test/cluster/state.ts keeps what there is to give back.
 *
 * What waits for nothing starts first: the nodes' containerds come up and get their image while the API server does.
 */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { makeAuthority } from "../support/certificates.ts";
import { freePort } from "../support/server-process.ts";
import { openApi } from "./api.ts";
import type { Api } from "./api.ts";
import { SERVICE_RANGE, startControlPlane } from "./control-plane.ts";
import type { ControlPlane } from "./control-plane.ts";
import { giveBack } from "./give-back.ts";
import { importImage, writeBusyboxImage } from "./images.ts";
import {
  API_ADDRESS,
  DNS_ADDRESS,
  HOST_ADDRESS,
  HOST_NAME,
  planNodes,
  planState,
  requireCluster,
  takeOfMachine,
} from "./machine.ts";
import { CSI_DRIVER, startContainerd, startKubelet } from "./node.ts";
import type { NodePlan } from "./node.ts";
import { expectRunning, isRunning, processFacts, startProgram } from "./processes.ts";
import type { StartedProcess } from "./processes.ts";
import { clusterProgram } from "./programs.ts";
import { startProvisioners, storageObjects } from "./storage.ts";
import { readState, writeState } from "./state.ts";
import type { ClusterState, RunningCluster } from "./state.ts";

const CONTROLLER_MANAGER = "system:kube-controller-manager";
const SCHEDULER = "system:kube-scheduler";
const READY_MS = 120_000;
/** It answers for one name, and that there are no others; without it, names would be looked up for many seconds. */
const DNS_ARGS = [
  "--keep-in-foreground",
  "--conf-file=/dev/null",
  "--pid-file=",
  "--user=root",
  "--no-resolv",
  "--no-hosts",
  "--bind-interfaces",
  `--listen-address=${DNS_ADDRESS}`,
  "--local=/#/",
  `--host-record=${HOST_NAME},${HOST_ADDRESS}`,
  "--log-facility=-",
];

/**
 * Returns when pods can be scheduled on both nodes. What a crash has left of another cluster goes first.
 * @returns false if there is a running one already
 * @throws Error that says in one sentence what the machine lacks
 */
export async function startCluster(): Promise<boolean> {
  const before = readState();
  if (before?.running !== undefined && before.processes.every(isRunning)) return false;
  if (before !== undefined && before.running === undefined && isRunning(before.startedBy)) {
    throw new Error("another process is starting the cluster");
  }
  if (before !== undefined) await giveBack(before);
  const reason = await requireCluster();
  if (reason !== false) throw new Error(`a cluster ${reason}`);
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "decant-cluster-"));
  // A short way to sockets, whose paths may have 107 bytes, and kubelets must be able to look through.
  fs.chmodSync(folder, 0o755);
  const nodes = planNodes(folder);
  let state: ClusterState = planState(folder, nodes, processFacts("starter", process.pid));
  writeState(state);
  const onStart = (program: StartedProcess): void => {
    state = { ...state, processes: [...state.processes, program] };
    writeState(state);
  };
  try {
    takeOfMachine(state, nodes);
    const running = await startAll(folder, nodes, onStart);
    expectRunning(state.processes);
    state = { ...state, running };
    writeState(state);
    return true;
  } catch (error) {
    await giveBack(state);
    throw error;
  }
}

/** @returns false if there is none */
export async function stopCluster(): Promise<boolean> {
  const state = readState();
  if (state !== undefined) await giveBack(state);
  return state !== undefined;
}

type OnStart = (program: StartedProcess) => void;

async function startAll(folder: string, nodes: readonly NodePlan[], onStart: OnStart): Promise<RunningCluster> {
  const kubeletClients = makeAuthority(folder);
  const ownCertificate = kubeletClients.issue("DNS:kube-apiserver");
  for (const kind of ["key", "cert"] as const)
    fs.writeFileSync(path.join(folder, `client.${kind}`), ownCertificate[kind]);
  const controlPlaneStarts = startControlPlane({
    folder,
    address: API_ADDRESS,
    users: {
      [CONTROLLER_MANAGER]: [],
      [SCHEDULER]: [],
      ...Object.fromEntries(nodes.map(({ name }) => [nodeUser(name), ["system:nodes"]])),
    },
    apiServerArgs: [
      "--kubelet-preferred-address-types=InternalIP",
      `--kubelet-client-certificate=${path.join(folder, "client.cert")}`,
      `--kubelet-client-key=${path.join(folder, "client.key")}`,
    ],
    outlives: true,
    onStart,
  });
  const nodesHaveImage = giveBusybox(folder, nodes, onStart);
  // The other is waited for too: nothing may be started after a failure has been cleaned up.
  const [started, given] = await Promise.allSettled([controlPlaneStarts, nodesHaveImage]);
  if (started.status === "rejected") throw started.reason;
  if (given.status === "rejected") throw given.reason;
  const controlPlane = started.value;
  await startControllers(folder, controlPlane, onStart);
  onStart(await startProgram("dnsmasq", { command: "dnsmasq", args: DNS_ARGS, folder, outlives: true }));
  for (const node of nodes) {
    await startKubelet(node, {
      kubeconfig: controlPlane.writeKubeconfig(nodeUser(node.name)),
      kubeletClientsFile: path.join(folder, "ca.pem"),
      dnsAddress: DNS_ADDRESS,
      volumesFolder: path.join(folder, "volumes"),
      onStart,
    });
  }
  const api = openApi(controlPlane.kubeconfig);
  try {
    // One of the provisioners ends if it does not find its own.
    for (const object of storageObjects()) await create(api, object);
    await startProvisioners({ folder, kubeconfig: controlPlane.kubeconfig, nodes, onStart });
    await untilUsable(api, nodes);
  } finally {
    api.close();
  }
  const { kubeconfig, kubectl } = controlPlane;
  const facts = nodes.map(({ name, address, socket, folder: place }) => ({ name, address, socket, folder: place }));
  return { kubeconfig, kubectl, hostAddress: HOST_ADDRESS, hostName: HOST_NAME, nodes: facts };
}

function nodeUser(name: string): string {
  return `system:node:${name}`;
}

async function giveBusybox(folder: string, nodes: readonly NodePlan[], onStart: OnStart): Promise<void> {
  const tarball = writeBusyboxImage(folder);
  const all = await Promise.allSettled([tarball, ...nodes.map(async (node) => await startContainerd(node, onStart))]);
  for (const result of all) if (result.status === "rejected") throw result.reason;
  await importImage(nodes, await tarball);
}

async function startControllers(folder: string, controlPlane: ControlPlane, onStart: OnStart): Promise<void> {
  const start = async (name: "kube-controller-manager" | "kube-scheduler", args: readonly string[]): Promise<void> => {
    const { path: command } = await clusterProgram(name);
    const common = ["--leader-elect=false", "--bind-address=127.0.0.1", `--secure-port=${await freePort()}`];
    // Else it makes a folder for its certificate where it was started.
    const certificates = `--cert-dir=${path.join(folder, `${name}-certificates`)}`;
    onStart(await startProgram(name, { command, args: [...common, certificates, ...args], folder, outlives: true }));
  };
  await start("kube-controller-manager", [
    `--kubeconfig=${controlPlane.writeKubeconfig(CONTROLLER_MANAGER)}`,
    `--root-ca-file=${controlPlane.certificateFile}`,
    `--service-account-private-key-file=${path.join(folder, "service-accounts.key")}`,
    "--use-service-account-credentials",
    `--service-cluster-ip-range=${SERVICE_RANGE}`,
    "--allocate-node-cidrs=false",
    `--flex-volume-plugin-dir=${path.join(folder, "volume-plugins")}`,
  ]);
  await start("kube-scheduler", [`--kubeconfig=${controlPlane.writeKubeconfig(SCHEDULER)}`]);
}

interface NodeObject {
  readonly spec: { readonly taints?: readonly object[] };
  readonly status: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

interface CsiNodeObject {
  readonly spec: { readonly drivers: readonly { readonly name: string }[] | null };
}

/** Nodes ready, without the taints of new ones, and with the CSI driver; pods can have their service account. */
async function untilUsable(api: Api, nodes: readonly NodePlan[]): Promise<void> {
  for (const { name } of nodes) {
    await api.until<NodeObject>(`/api/v1/nodes/${name}`, (node) => node !== undefined && isUsable(node), READY_MS);
    const hasDriver = (object: CsiNodeObject | undefined): boolean => {
      return object?.spec.drivers?.some((driver) => driver.name === CSI_DRIVER) ?? false;
    };
    await api.until<CsiNodeObject>(`/apis/storage.k8s.io/v1/csinodes/${name}`, hasDriver, READY_MS);
  }
  const account = "/api/v1/namespaces/default/serviceaccounts/default";
  await api.until<object>(account, (object) => object !== undefined, READY_MS);
}

function isUsable({ spec, status }: NodeObject): boolean {
  const isReady = status.conditions?.some((condition) => condition.type === "Ready" && condition.status === "True");
  return (isReady ?? false) && (spec.taints ?? []).length === 0;
}

interface NamedObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly namespace?: string };
}

const PLACES: Readonly<Record<string, string>> = {
  CSIDriver: "csidrivers",
  ConfigMap: "configmaps",
  Namespace: "namespaces",
  StorageClass: "storageclasses",
};

async function create(api: Api, object: object): Promise<void> {
  const { apiVersion, kind, metadata } = object as NamedObject;
  const root = apiVersion === "v1" ? "/api/v1" : `/apis/${apiVersion}`;
  const place = metadata.namespace === undefined ? root : `${root}/namespaces/${metadata.namespace}`;
  await api.request("POST", `${place}/${PLACES[kind] ?? kind}`, object);
}
