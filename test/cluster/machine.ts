/**
 * What a cluster needs of the machine: addresses, room for cgroups, and settings of the kernel that kubelets change.
 *
 * All addresses are on one interface that leads nowhere, so nothing outside the machine reaches the cluster. One of them is
 * the first of the range of services: the API server listens on it itself, so pods find it where they expect it, without a
 * kube-proxy.
 */
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { requireLibraries, requireLoopDevices, requireTools } from "../support/tools.ts";
import { cgroupFolders, makeCgroup, requireCgroups } from "./cgroups.ts";
import { requireStaticBusybox } from "./images.ts";
import type { NodePlan } from "./node.ts";
import type { ProcessFacts } from "./processes.ts";
import { CLUSTER_PROGRAMS, clusterProgram } from "./programs.ts";
import type { ClusterState } from "./state.ts";

export const API_ADDRESS = { ip: "10.87.0.1", port: 443 };
export const DNS_ADDRESS = "10.87.0.10";
/** Where pods reach this machine. */
export const HOST_ADDRESS = "10.87.1.10";
export const HOST_NAME = "host.test";
const NODE_NAMES = ["node-1", "node-2"] as const;
const INTERFACE = "decant-hosts";
/** A kubelet sets the first three, the CNI plugin the last. */
const SETTINGS = ["vm/overcommit_memory", "kernel/panic", "kernel/panic_on_oops", "net/ipv4/ip_forward"];

/**
 * False if a cluster can be started here, else the reason. Builds the programs, which takes minutes the first time.
 * @throws Error instead of a reason to skip with CI=true
 */
export async function requireCluster(): Promise<false | string> {
  const tools = requireTools(
    "etcd",
    "containerd",
    "runc",
    "busybox",
    "dnsmasq",
    "ip",
    "openssl",
    "mke2fs",
    "losetup",
    "mount",
    "umount",
  );
  const reason =
    requireLoopDevices() ||
    tools ||
    requireLibraries("containernetworking-plugins") ||
    requireCgroups() ||
    (await requireStaticBusybox());
  if (reason !== false) return reason;
  for (const name of CLUSTER_PROGRAMS) {
    const { skip } = await clusterProgram(name);
    if (skip !== false) return skip;
  }
  return false;
}

export function planNodes(folder: string): NodePlan[] {
  return NODE_NAMES.map((name, index) => ({
    name,
    address: `10.87.1.${index + 1}`,
    folder: path.join(folder, name),
    socket: path.join(folder, name, "containerd.sock"),
    bridge: `decant-${name}`,
    podRange: `10.87.${index + 11}.0/24`,
    cgroup: `decant-${name}`,
  }));
}

/** What of the machine a cluster in that folder is going to take. */
export function planState(folder: string, nodes: readonly NodePlan[], startedBy: ProcessFacts): ClusterState {
  const settings = SETTINGS.map((name) => [name, fs.readFileSync(path.join("/proc/sys", name), "utf8").trim()]);
  return {
    folder,
    startedBy,
    processes: [],
    links: [INTERFACE, ...nodes.map(({ bridge }) => bridge)],
    cgroups: nodes.flatMap(({ cgroup }) => cgroupFolders(cgroup)),
    settings: Object.fromEntries(settings) as Record<string, string>,
  };
}

/** Takes it, but for the bridges, which the CNI plugin makes. */
export function takeOfMachine(state: ClusterState, nodes: readonly NodePlan[]): void {
  const ip = (...args: string[]): Buffer => execFileSync("ip", args, { stdio: ["ignore", "pipe", "pipe"] });
  // Not every kernel has interfaces of the type "dummy", but a cluster needs bridges anyway.
  ip("link", "add", INTERFACE, "type", "bridge");
  for (const address of [API_ADDRESS.ip, DNS_ADDRESS, HOST_ADDRESS, ...nodes.map((node) => node.address)]) {
    ip("address", "add", `${address}/32`, "dev", INTERFACE);
  }
  ip("link", "set", INTERFACE, "up");
  for (const folder of state.cgroups) makeCgroup(folder);
  for (const node of nodes) fs.mkdirSync(node.folder);
}
