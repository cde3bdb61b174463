/** Claims and pods for tests on the cluster, and what tests read of them. */
import assert from "node:assert/strict";
import path from "node:path";
import type { Claim, Pod, StringMap, Toleration, Volume, VolumeMode } from "../../controller/api/kube.ts";
import type { Cluster } from "./cluster.ts";
import { BUSYBOX_IMAGE } from "./images.ts";
import type { NodeFacts } from "./state.ts";

/** qemu's, which importers run as. */
const USER = 107;

export interface ClaimOptions {
  readonly storageClass: string;
  /** Default: 64Mi. */
  readonly size?: string;
  /** Default: Filesystem. */
  readonly volumeMode?: VolumeMode;
  readonly dataSourceRef?: object;
  readonly annotations?: StringMap;
}

export interface VolumeObject extends Volume {
  readonly spec: Volume["spec"] & {
    readonly csi?: { readonly volumeHandle: string };
    readonly nodeAffinity?: unknown;
  };
}

export function claim(namespace: string, name: string, options: ClaimOptions): object {
  const { storageClass, size = "64Mi", volumeMode = "Filesystem", dataSourceRef, annotations = {} } = options;
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { namespace, name, annotations },
    spec: {
      accessModes: ["ReadWriteOnce"],
      storageClassName: storageClass,
      volumeMode,
      resources: { requests: { storage: size } },
      ...(dataSourceRef === undefined ? {} : { dataSourceRef }),
    },
  };
}

export interface PodOptions {
  /** For sh. */
  readonly script: string;
  /** Claims with a filesystem, by the folder where they are mounted. */
  readonly folders?: Readonly<Record<string, string>>;
  /** Block claims by the path of their device. */
  readonly devices?: Readonly<Record<string, string>>;
  /** Default: the scheduler chooses. */
  readonly node?: string;
  readonly tolerations?: readonly Toleration[];
  /** Default: a busybox that the nodes have. */
  readonly image?: string;
  /** Default: Always, for another image than that. */
  readonly pullPolicy?: "Always" | "IfNotPresent" | "Never";
}

/** A busybox as the Pod Security Standard "restricted" wants pods, with qemu's user; it runs once. */
export function restrictedPod(namespace: string, name: string, options: PodOptions): object {
  const folders = Object.entries(options.folders ?? {});
  const devices = Object.entries(options.devices ?? {});
  const claims = [...folders, ...devices].map(([, claimName]) => claimName);
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace, name },
    spec: {
      restartPolicy: "Never",
      terminationGracePeriodSeconds: 1,
      ...(options.node === undefined ? {} : { nodeSelector: { "kubernetes.io/hostname": options.node } }),
      tolerations: options.tolerations ?? [],
      securityContext: {
        runAsNonRoot: true,
        runAsUser: USER,
        runAsGroup: USER,
        fsGroup: USER,
        seccompProfile: { type: "RuntimeDefault" },
      },
      containers: [
        {
          name: "main",
          image: options.image ?? BUSYBOX_IMAGE,
          imagePullPolicy: options.pullPolicy ?? (options.image === undefined ? "Never" : "Always"),
          command: ["/bin/sh", "-ec", options.script],
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
          volumeMounts: folders.map(([mountPath, claimName]) => ({ name: claimName, mountPath })),
          volumeDevices: devices.map(([devicePath, claimName]) => ({ name: claimName, devicePath })),
        },
      ],
      volumes: claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
    },
  };
}

export interface EndedPod {
  readonly node: string | undefined;
  /** What it wrote to /dev/termination-log. */
  readonly message: string;
}

/** Runs a restricted pod to its end, and asserts that it is a good one. */
export async function runPod(
  cluster: Cluster,
  namespace: string,
  name: string,
  options: PodOptions,
  timeoutMs?: number,
): Promise<EndedPod> {
  const place = `/api/v1/namespaces/${namespace}/pods`;
  await cluster.api.request("POST", place, restrictedPod(namespace, name, options));
  const hasEnded = (pod: Pod | undefined): boolean => ["Succeeded", "Failed"].includes(pod?.status?.phase ?? "");
  const { spec, status } = await cluster.api.until<Pod>(`${place}/${name}`, hasEnded, timeoutMs);
  const message = status?.containerStatuses?.[0]?.state?.terminated?.message ?? "";
  if (status?.phase !== "Succeeded") {
    // One that has never started has none.
    const log = await cluster.kubectl(["logs", "-n", namespace, name]).catch(String);
    assert.fail(`${name} ends as ${status?.phase}: ${message}\n${log}`);
  }
  return { node: spec.nodeName, message };
}

/** The file behind a volume of the CSI driver: what a Block claim holds. */
export function volumeFile(cluster: Cluster, { spec }: VolumeObject): string {
  return path.join(path.dirname(cluster.nodes[0]?.folder ?? ""), "volumes", spec.csi?.volumeHandle ?? "");
}

/** The disk on a claim of the class local-path, where its volume is on this node. */
export function localPathDisk({ folder }: NodeFacts, { metadata: { namespace, name }, spec }: Claim): string {
  return path.join(folder, "local-path", `${spec.volumeName}_${namespace}_${name}`, "disk.img");
}
