/**
 * A node of the cluster: a containerd, a kubelet and the CSI driver of test/cluster/csi-driver, each with folders, sockets,
 * a bridge and a cgroup of its own, so that two of them run on one machine. The node's address is one of the machine's;
 * pods reach the machine and both nodes through their bridge's gateway, without masquerading.
 */
import { execFile } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { BUSYBOX_IMAGE } from "./images.ts";
import { startProgram, untilReady } from "./processes.ts";
import type { StartedProcess } from "./processes.ts";
import { clusterProgram } from "./programs.ts";
import type { NodeFacts } from "./state.ts";

export interface NodePlan extends NodeFacts {
  readonly bridge: string;
  /** Of its pods, such as `10.87.11.0/24`. */
  readonly podRange: string;
  /** The name of its cgroup, at the root of every hierarchy. */
  readonly cgroup: string;
}

export interface NodeSurroundings {
  readonly kubeconfig: string;
  /** Who may ask the kubelet, PEM: the API server. */
  readonly kubeletClientsFile: string;
  readonly dnsAddress: string;
  /** Holds a folder of volumes for each node. */
  readonly volumesFolder: string;
  readonly onStart: (program: StartedProcess) => void;
}

export const CSI_DRIVER = "csi.test.decant";
const KUBELET_PORT = 10250;
const CNI_PROGRAMS = "/usr/lib/cni";
const READY_MS = 60_000;

export function csiSocket({ folder }: NodeFacts): string {
  return path.join(folder, "kubelet", "plugins", CSI_DRIVER, "csi.sock");
}

/** Ready to be given images. */
export async function startContainerd(plan: NodePlan, onStart: (program: StartedProcess) => void): Promise<void> {
  const { folder } = plan;
  fs.mkdirSync(path.join(folder, "cni"), { recursive: true });
  fs.mkdirSync(path.join(folder, "registries"));
  fs.writeFileSync(path.join(folder, "cni", "10-bridge.conflist"), JSON.stringify(cniConfiguration(plan)));
  const config = path.join(folder, "containerd.toml");
  fs.writeFileSync(config, containerdConfiguration(plan, (await hasOverlay(folder)) ? "overlayfs" : "native"));
  const options = { command: "containerd", args: ["--config", config], folder, outlives: true };
  const program = await startProgram(`${plan.name}-containerd`, options);
  onStart(program);
  const ask = ["--address", plan.socket, "version"];
  await untilReady(program, async () => (await promisify(execFile)("ctr", ask)).stdout !== "", READY_MS);
}

export async function startKubelet(plan: NodePlan, surroundings: NodeSurroundings): Promise<void> {
  const { name, folder } = plan;
  const { kubeconfig, onStart, volumesFolder } = surroundings;
  const root = path.join(folder, "kubelet");
  const config = path.join(folder, "kubelet.json");
  fs.mkdirSync(root, { recursive: true });
  fs.writeFileSync(config, JSON.stringify(kubeletConfiguration(plan, surroundings)));
  const driver = await clusterProgram("csi-driver");
  const driverArgs = ["-node", name, "-volumes", volumesFolder, "-endpoint", csiSocket(plan)];
  const register = path.join(root, "plugins_registry", `${CSI_DRIVER}.sock`);
  onStart(
    await startProgram(`${name}-csi-driver`, {
      command: driver.path,
      args: [...driverArgs, "-register", register],
      folder,
      outlives: true,
    }),
  );
  const kubelet = await clusterProgram("kubelet");
  const args = [
    `--config=${config}`,
    `--kubeconfig=${kubeconfig}`,
    `--root-dir=${root}`,
    `--cert-dir=${path.join(folder, "certificates")}`,
    `--hostname-override=${name}`,
    `--node-ip=${plan.address}`,
  ];
  onStart(await startProgram(`${name}-kubelet`, { command: kubelet.path, args, folder, outlives: true }));
}

/** The kernel's overlay, if it takes this place: containers then share an image's files instead of copying them. */
async function hasOverlay(folder: string): Promise<boolean> {
  const probe = fs.mkdtempSync(path.join(folder, "overlay-"));
  for (const name of ["lower", "upper", "work", "merged"]) fs.mkdirSync(path.join(probe, name));
  const layers = `lowerdir=${probe}/lower,upperdir=${probe}/upper,workdir=${probe}/work`;
  const run = promisify(execFile);
  try {
    await run("mount", ["-t", "overlay", "overlay", "-o", layers, path.join(probe, "merged")]);
    await run("umount", [path.join(probe, "merged")]);
    return true;
  } catch {
    return false;
  } finally {
    fs.rmSync(probe, { recursive: true, force: true });
  }
}

function containerdConfiguration({ folder, socket }: NodePlan, snapshotter: string): string {
  const cri = `plugins."io.containerd.grpc.v1.cri"`;
  const quote = (...parts: string[]): string => JSON.stringify(path.join(...parts));
  return `
version = 2
root = ${quote(folder, "containerd", "root")}
state = ${quote(folder, "containerd", "state")}
[grpc]
address = ${quote(socket)}
[plugins."io.containerd.internal.v1.opt"]
path = ${quote(folder, "containerd", "opt")}
[${cri}]
sandbox_image = "${BUSYBOX_IMAGE}"
# A root without CAP_SYS_RESOURCE may not lower it.
restrict_oom_score_adj = true
# Block volumes belong to the pod's user, or no importer could write to one.
device_ownership_from_security_context = true
netns_mounts_under_state_dir = true
# A profile would stay in the kernel.
disable_apparmor = true
[${cri}.containerd]
snapshotter = "${snapshotter}"
[${cri}.containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[${cri}.containerd.runtimes.runc.options]
SystemdCgroup = false
Root = ${quote(folder, "runc")}
[${cri}.cni]
bin_dir = "${CNI_PROGRAMS}"
conf_dir = ${quote(folder, "cni")}
[${cri}.registry]
config_path = ${quote(folder, "registries")}
`;
}

function cniConfiguration({ folder, bridge, podRange }: NodePlan): object {
  const ipam = {
    type: "host-local",
    ranges: [[{ subnet: podRange }]],
    routes: [{ dst: "0.0.0.0/0" }],
    dataDir: path.join(folder, "addresses"),
  };
  // Results are kept by this name, in a folder that all networks of the machine share.
  return { cniVersion: "0.4.0", name: bridge, plugins: [{ type: "bridge", bridge, isGateway: true, ipam }] };
}

function kubeletConfiguration(plan: NodePlan, { kubeletClientsFile, dnsAddress }: NodeSurroundings): object {
  return {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    address: plan.address,
    port: KUBELET_PORT,
    healthzBindAddress: plan.address,
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: false },
      x509: { clientCAFile: kubeletClientsFile },
    },
    authorization: { mode: "AlwaysAllow" },
    clusterDNS: [dnsAddress],
    clusterDomain: "cluster.local",
    containerRuntimeEndpoint: `unix://${plan.socket}`,
    cgroupDriver: "cgroupfs",
    cgroupRoot: `/${plan.cgroup}`,
    failCgroupV1: false,
    failSwapOn: false,
    // Rules that stay, against traffic that nobody sends here.
    makeIPTablesUtilChains: false,
    podLogsDir: path.join(plan.folder, "logs"),
    volumePluginDir: path.join(plan.folder, "volume-plugins"),
    // The machine may be nearly full, and images come from nowhere else again.
    evictionHard: { "nodefs.available": "0%", "imagefs.available": "0%", "memory.available": "50Mi" },
    imageGCHighThresholdPercent: 100,
  };
}
