/** Claims and pods for tests on the cluster, and what tests read of them. */
import { BUSYBOX_IMAGE } from "./images.ts";

/** qemu's, which importers run as. */
const USER = 107;

export interface ClaimOptions {
  readonly storageClass: string;
  /** Default: 64Mi. */
  readonly size?: string;
  /** Default: Filesystem. */
  readonly volumeMode?: "Filesystem" | "Block";
  readonly dataSourceRef?: object;
}

export interface ClaimObject {
  readonly metadata: { readonly uid: string };
  readonly spec: { readonly volumeName?: string };
  readonly status: { readonly phase: string };
}

export interface VolumeObject {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly csi?: { readonly volumeHandle: string };
    readonly nodeAffinity?: unknown;
    readonly persistentVolumeReclaimPolicy: string;
  };
}

export interface PodObject {
  readonly spec: { readonly nodeName?: string };
  readonly status: {
    readonly phase: string;
    readonly containerStatuses?: readonly {
      readonly state: { readonly terminated?: { readonly exitCode: number; readonly message?: string } };
    }[];
  };
}

export function claim(namespace: string, name: string, options: ClaimOptions): object {
  const { storageClass, size = "64Mi", volumeMode = "Filesystem", dataSourceRef } = options;
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { namespace, name },
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
