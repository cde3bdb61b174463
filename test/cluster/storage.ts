/**
 * The cluster's storage: classes, and the provisioners that make volumes for them.
 *
 * | class         | volumes                                | bound                                  |
 * |---------------|----------------------------------------|----------------------------------------|
 * | csi-immediate | ext4 or Block on a loop device, CSI    | at once, on some node                  |
 * | csi-wait      | the same                               | on the node of the first consumer      |
 * | local-path    | folders, Filesystem only, not CSI      | on the node of the first consumer      |
 */
import fs from "node:fs";
import path from "node:path";
import { BUSYBOX_IMAGE } from "./images.ts";
import { CSI_DRIVER, csiSocket } from "./node.ts";
import { startProgram } from "./processes.ts";
import type { StartedProcess } from "./processes.ts";
import { clusterProgram } from "./programs.ts";
import type { NodeFacts } from "./state.ts";

export const CSI_IMMEDIATE = "csi-immediate";
export const CSI_WAIT = "csi-wait";
export const LOCAL_PATH = "local-path";

const LOCAL_PATH_PROVISIONER = "rancher.io/local-path";
const LOCAL_PATH_NAMESPACE = "local-path-storage";
const LOCAL_PATH_SCRIPTS = "local-path-config";

/** What the provisioners need in the cluster, in the order in which it is made. */
export function storageObjects(): object[] {
  return [
    storageClass(CSI_IMMEDIATE, CSI_DRIVER, "Immediate"),
    storageClass(CSI_WAIT, CSI_DRIVER, "WaitForFirstConsumer"),
    storageClass(LOCAL_PATH, LOCAL_PATH_PROVISIONER, "WaitForFirstConsumer"),
    {
      apiVersion: "storage.k8s.io/v1",
      kind: "CSIDriver",
      metadata: { name: CSI_DRIVER },
      spec: { attachRequired: false, podInfoOnMount: false, fsGroupPolicy: "File", storageCapacity: false },
    },
    { apiVersion: "v1", kind: "Namespace", metadata: { name: LOCAL_PATH_NAMESPACE } },
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: LOCAL_PATH_SCRIPTS, namespace: LOCAL_PATH_NAMESPACE },
      data: {
        setup: `set -eu; mkdir -m 0777 -p "$VOL_DIR"`,
        teardown: `set -eu; rm -rf "$VOL_DIR"`,
        "helperPod.yaml": JSON.stringify(helperPod()),
      },
    },
  ];
}

export interface ProvisionerOptions {
  readonly folder: string;
  readonly kubeconfig: string;
  readonly nodes: readonly NodeFacts[];
  readonly onStart: (program: StartedProcess) => void;
}

export async function startProvisioners({ folder, kubeconfig, nodes, onStart }: ProvisionerOptions): Promise<void> {
  const [first] = nodes;
  if (first === undefined) throw new Error("a cluster needs a node");
  const csi = await clusterProgram("csi-provisioner");
  const csiArgs = [
    // Any node's driver makes volumes for all of them.
    `--csi-address=${csiSocket(first)}`,
    `--kubeconfig=${kubeconfig}`,
    "--feature-gates=Topology=true",
    "--strict-topology",
    "--default-fstype=ext4",
    "--extra-create-metadata",
  ];
  onStart(await startProgram("csi-provisioner", { command: csi.path, args: csiArgs, folder, outlives: true }));

  const config = path.join(folder, "local-path.json");
  const nodePathMap = nodes.map((node) => ({ node: node.name, paths: [path.join(node.folder, "local-path")] }));
  fs.writeFileSync(config, JSON.stringify({ nodePathMap }));
  const localPath = await clusterProgram("local-path-provisioner");
  const localPathArgs = [
    "start",
    `--config=${config}`,
    `--kubeconfig=${kubeconfig}`,
    `--namespace=${LOCAL_PATH_NAMESPACE}`,
    `--configmap-name=${LOCAL_PATH_SCRIPTS}`,
    `--helper-image=${BUSYBOX_IMAGE}`,
    "--service-account-name=default",
  ];
  onStart(
    await startProgram("local-path-provisioner", {
      command: localPath.path,
      args: localPathArgs,
      folder,
      outlives: true,
    }),
  );
}

function storageClass(name: string, provisioner: string, volumeBindingMode: string): object {
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name },
    provisioner,
    volumeBindingMode,
    reclaimPolicy: "Delete",
  };
}

function helperPod(): object {
  const container = { name: "helper-pod", image: BUSYBOX_IMAGE, imagePullPolicy: "Never" };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "helper-pod" },
    spec: { tolerations: [{ operator: "Exists" }], containers: [container] },
  };
}
