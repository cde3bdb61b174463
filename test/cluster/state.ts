/**
 * What a cluster has taken of the machine, written down before it is taken: whoever comes after a crash gives it back.
 *
 * There is one cluster on a machine at a time. The record does not outlive a boot, as nothing of a cluster does but its
 * folder of temporary files.
 */
import fs from "node:fs";
import path from "node:path";
import { errnoName } from "../../importer/errors.ts";
import type { ProcessFacts, StartedProcess } from "./processes.ts";

/** A node of the cluster, by what does not change while it runs. */
export interface NodeFacts {
  readonly name: string;
  /** Of the machine, so everything on it reaches the node and the node everything. */
  readonly address: string;
  /** containerd's. */
  readonly socket: string;
  /** The folder of its containerd, its kubelet and its volumes. */
  readonly folder: string;
}

export interface ClusterState {
  /** Holds everything that is written, mounts included. */
  readonly folder: string;
  readonly startedBy: ProcessFacts;
  readonly processes: readonly StartedProcess[];
  /** Network devices that were made. */
  readonly links: readonly string[];
  /** Folders of cgroups that were made; the kubelets make more in them. */
  readonly cgroups: readonly string[];
  /** Settings of the kernel under /proc/sys, as they were. */
  readonly settings: Readonly<Record<string, string>>;
  /** Once it is ready. */
  readonly running?: RunningCluster;
}

export interface RunningCluster {
  readonly kubeconfig: string;
  readonly kubectl: string;
  /** Of the machine, for servers that pods are to reach. */
  readonly hostAddress: string;
  /** The same as a name that pods can look up. */
  readonly hostName: string;
  readonly nodes: readonly NodeFacts[];
}

const FILE = "/run/decant-tests/cluster.json";

export function readState(): ClusterState | undefined {
  try {
    return JSON.parse(fs.readFileSync(FILE, "utf8")) as ClusterState;
  } catch (error) {
    if (errnoName(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Whole or not at all: a crash in the middle leaves the record before. */
export function writeState(state: ClusterState): void {
  fs.mkdirSync(path.dirname(FILE), { recursive: true });
  fs.writeFileSync(`${FILE}.new`, JSON.stringify(state, undefined, 2), { mode: 0o600 });
  fs.renameSync(`${FILE}.new`, FILE);
}

export function removeState(): void {
  fs.rmSync(FILE, { force: true });
}
