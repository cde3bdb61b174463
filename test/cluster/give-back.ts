/**
 * Gives back what a cluster has taken of the machine, from its record alone: after `npm run cluster:down` and after a crash
 * it is the same. Containers are not asked to end: what is left in the cluster's cgroups is killed.
 */
import { execFileSync, spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { processesIn, removeCgroup } from "./cgroups.ts";
import { signal, stopPrograms } from "./processes.ts";
import { removeState } from "./state.ts";
import type { ClusterState } from "./state.ts";

/** Mounts and cgroups stay busy for a moment after the last process has ended. */
const TRIES = 200;
const PAUSE_MS = 50;
/** Where CNI and kubelets write beside the folders that they are told. */
const LOG_LINKS = "/var/log/containers";
const DEVICE_PLUGINS = "/var/lib/kubelet/device-plugins";
const SHARED_PLACES = ["/run/containerd/s", "/run/containerd", "/var/lib/cni", DEVICE_PLUGINS, "/var/lib/kubelet"];
const CNI_RESULTS = "/var/lib/cni/results";
const CLUSTER_PROGRAMS = /^(etcd|kube|containerd|runc|dnsmasq|csi-|local-path-)/;
const SHIM_SOCKETS = /^unix:\/\/(\/run\/containerd\/s\/[0-9a-f]+)$/;

/** @throws Error if something stays busy; the record is kept then */
export async function giveBack(state: ClusterState): Promise<void> {
  // Kubelets first: they start again what else is ended.
  await stopPrograms(state.processes.toReversed());
  const sockets = shimSockets(state.folder);
  await insist("processes do not end", () => killRest(state));
  await insist("mounts stay busy", () => unmountAll(state.folder));
  for (const device of loopDevicesOf(state.folder)) execFileSync("losetup", ["--detach", device]);
  for (const link of state.links) spawnSync("ip", ["link", "delete", link]); // it may not have come to be
  await insist("cgroups stay busy", () => tryAll(state.cgroups, removeCgroup));
  for (const [name, value] of Object.entries(state.settings)) fs.writeFileSync(path.join("/proc/sys", name), value);
  for (const socket of sockets) fs.rmSync(socket, { force: true });
  fs.rmSync(path.join(DEVICE_PLUGINS, "kubelet.sock"), { force: true });
  removeEntries(LOG_LINKS, (file) => leadsInto(file, state.folder));
  removeEntries(CNI_RESULTS, (file) => state.links.some((link) => path.basename(file).startsWith(`${link}-`)));
  for (const place of SHARED_PLACES) removeIfEmpty(place);
  fs.rmSync(state.folder, { recursive: true, force: true });
  removeState();
}

async function insist(complaint: string, isDone: () => boolean): Promise<void> {
  for (let tries = 0; !isDone(); tries++) {
    if (tries === TRIES) throw new Error(`the cluster's ${complaint}`);
    await sleep(PAUSE_MS);
  }
}

/** True if there was none. */
function killRest({ folder, cgroups }: ClusterState): boolean {
  const rest = new Set([...cgroups.flatMap(processesIn), ...processesNaming(folder)]);
  for (const pid of rest) signal(pid, "SIGKILL");
  return rest.size === 0;
}

/**
 * Programs of the cluster that are not in its record or have no cgroup of a pod: shims of containerd, and what was started
 * just before a crash. They name the cluster's folder, or were started in it; so may a shell or a pager, which is let be.
 */
function processesNaming(folder: string): number[] {
  const ids = fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const own = ids.filter((id) => {
    const [program, place] = [linkOf(id, "exe"), linkOf(id, "cwd")];
    if (!CLUSTER_PROGRAMS.test(path.basename(program))) return false;
    return `${place}/`.startsWith(`${folder}/`) || commandLineOf(id).includes(`${folder}/`);
  });
  return own.map(Number);
}

function linkOf(id: string, name: string): string {
  try {
    return fs.readlinkSync(path.join("/proc", id, name));
  } catch {
    return ""; // it has ended
  }
}

function commandLineOf(id: string): string {
  try {
    return fs.readFileSync(path.join("/proc", id, "cmdline"), "utf8");
  } catch {
    return ""; // it has ended
  }
}

/** True if nothing is mounted in the folder any more; the last mount goes first. */
function unmountAll(folder: string): boolean {
  for (const place of mountsIn(folder).toReversed()) spawnSync("umount", [place]);
  return mountsIn(folder).length === 0;
}

function mountsIn(folder: string): string[] {
  const lines = fs.readFileSync("/proc/self/mountinfo", "utf8").split("\n");
  const places = lines.map((line) => unescape(line.split(" ")[4] ?? ""));
  return places.filter((place) => place.startsWith(`${folder}/`));
}

/** Spaces and the like are written as a backslash and three octal digits there. */
function unescape(place: string): string {
  return place.replaceAll(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

function loopDevicesOf(folder: string): string[] {
  const list = ["--list", "--noheadings", "--output", "NAME,BACK-FILE", "--raw"];
  const lines = execFileSync("losetup", list, { encoding: "utf8" }).split("\n");
  const pairs = lines.map((line) => line.split(" "));
  return pairs.filter(([, file]) => file?.startsWith(`${folder}/`)).map(([name]) => name ?? "");
}

/** A shim that is killed leaves its socket in containerd's own folder; the container's folder says which one it is. */
function shimSockets(folder: string): string[] {
  const files = fs.globSync(path.join(folder, "*/containerd/state/io.containerd.runtime.v2.task/*/*/address"));
  return files.flatMap((file) => SHIM_SOCKETS.exec(fs.readFileSync(file, "utf8"))?.[1] ?? []);
}

function removeEntries(folder: string, isOwn: (file: string) => boolean): void {
  if (!fs.existsSync(folder)) return;
  for (const name of fs.readdirSync(folder)) {
    if (isOwn(path.join(folder, name))) fs.rmSync(path.join(folder, name));
  }
  removeIfEmpty(folder);
}

function removeIfEmpty(folder: string): void {
  if (fs.existsSync(folder) && fs.readdirSync(folder).length === 0) fs.rmdirSync(folder);
}

function leadsInto(link: string, folder: string): boolean {
  return fs.lstatSync(link).isSymbolicLink() && fs.readlinkSync(link).startsWith(`${folder}/`);
}

function tryAll(folders: readonly string[], remove: (folder: string) => void): boolean {
  let isDone = true;
  for (const folder of folders) {
    try {
      remove(folder);
    } catch {
      isDone = false;
    }
  }
  return isDone;
}
