/**
 * Pods that use claims until their namespace goes, and what is on the claims, as the machine sees it: the nodes' mounts are its
 * own, so no pod has to read ten gibibytes of zeros.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import type { Claim, Pod, Toleration } from "../../../controller/api/kube.ts";
import type { Cluster } from "../cluster.ts";
import { localPathDisk, restrictedPod } from "../objects.ts";
import { LOCAL_PATH } from "../storage.ts";

export interface ConsumerOptions {
  readonly namespace: string;
  /** Mounted below /claims, each under its name. */
  readonly claims: readonly string[];
  /** Default: the scheduler chooses. */
  readonly node?: string;
  readonly tolerations?: readonly Toleration[];
  /**
   * `reads` (default): stays if every claim has a disk that it can read. `ends`: at once, as a pod does that is there only to
   * bind its claims. `holds`: stays, whatever is on them.
   */
  readonly use?: "reads" | "ends" | "holds";
}

const PATIENCE_MS = 150_000;
const FOR_EVER = "2147483647";

export async function createConsumer(cluster: Cluster, name: string, options: ConsumerOptions): Promise<void> {
  const { namespace, claims, node, tolerations = [], use = "reads" } = options;
  const reads = claims.map((claim) => `head -c 512 /claims/${claim}/disk.img > /dev/null`);
  const pod = restrictedPod(namespace, name, {
    script: use === "ends" ? "true" : [...(use === "reads" ? reads : []), `exec sleep ${FOR_EVER}`].join("\n"),
    folders: Object.fromEntries(claims.map((claim) => [`/claims/${claim}`, claim])),
    tolerations,
    ...(node === undefined ? {} : { node }),
  });
  await cluster.api.request("POST", `/api/v1/namespaces/${namespace}/pods`, pod);
}

/** Until its container runs. */
export async function untilRunning(cluster: Cluster, namespace: string, name: string): Promise<Pod> {
  const isRunning = (pod: Pod | undefined): boolean => {
    return pod?.status?.containerStatuses?.[0]?.state?.running !== undefined;
  };
  return await cluster.api.until<Pod>(`/api/v1/namespaces/${namespace}/pods/${name}`, isRunning, PATIENCE_MS);
}

/** The claim's disk on the machine, while a pod that mounts the claim runs. */
export async function diskFile(cluster: Cluster, pod: Pod, claimName: string): Promise<string> {
  const { namespace, uid = "" } = pod.metadata;
  const node = cluster.nodes.find(({ name }) => name === pod.spec.nodeName);
  assert.ok(node, "the pod is on no node");
  const claim = await cluster.api.get<Claim>(`/api/v1/namespaces/${namespace}/persistentvolumeclaims/${claimName}`);
  if (claim.spec.storageClassName === LOCAL_PATH) return localPathDisk(node, claim);
  const volume = claim.spec.volumeName ?? "";
  return path.join(node.folder, "kubelet/pods", uid, "volumes/kubernetes.io~csi", volume, "mount", "disk.img");
}

export interface DiskSize {
  readonly least: number;
  readonly most: number;
}

/** Asserts that a raw disk has such a size, and that its content is that of a qcow2, and zeros after it. */
export function isDiskOf(file: string, qcow2: string, size: number | DiskSize): void {
  const { least, most } = typeof size === "number" ? { least: size, most: size } : size;
  const found = fs.statSync(file).size;
  assert.ok(found >= least && found <= most, `the disk has ${found} bytes, not ${least} to ${most}`);
  execFileSync("qemu-img", ["compare", "-f", "raw", "-F", "qcow2", "-U", file, qcow2], { stdio: "pipe" });
}
