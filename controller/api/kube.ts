/**
 * Objects of Kubernetes itself, with the fields that this controller reads or writes. What the API server sends has more;
 * nothing here is validated yet: whoever reads an optional field handles its absence.
 */

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

export type StringMap = Readonly<Record<string, string>>;

export interface ObjectMeta {
  readonly name: string;
  /** Absent for objects of the whole cluster. */
  readonly namespace?: string;
  /** Absent until the API server has it. */
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: StringMap;
  readonly annotations?: StringMap;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
}

export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
}

export interface ObjectReference {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
}

export interface DataReference {
  readonly apiGroup?: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

export interface LabelSelector {
  readonly matchLabels?: StringMap;
  readonly matchExpressions?: readonly Readonly<Record<string, unknown>>[];
}

export type AccessMode = "ReadWriteOnce" | "ReadOnlyMany" | "ReadWriteMany" | "ReadWriteOncePod";
export type VolumeMode = "Filesystem" | "Block";

export interface Resources {
  readonly requests?: StringMap;
  readonly limits?: StringMap;
}

export interface ClaimSpec {
  readonly accessModes?: readonly AccessMode[];
  readonly selector?: LabelSelector;
  readonly resources?: Resources;
  readonly volumeName?: string;
  /** "" asks for no class; absent for the default one. */
  readonly storageClassName?: string;
  readonly volumeMode?: VolumeMode;
  readonly dataSource?: DataReference;
  readonly dataSourceRef?: DataReference;
  readonly volumeAttributesClassName?: string;
}

export interface Claim extends KubeObject {
  readonly kind: "PersistentVolumeClaim";
  readonly spec: ClaimSpec;
  readonly status?: { readonly phase?: "Pending" | "Bound" | "Lost"; readonly capacity?: StringMap };
}

export interface Volume extends KubeObject {
  readonly kind: "PersistentVolume";
  readonly spec: {
    readonly capacity?: StringMap;
    readonly accessModes?: readonly AccessMode[];
    readonly claimRef?: ObjectReference;
    readonly persistentVolumeReclaimPolicy?: "Retain" | "Delete" | "Recycle";
    readonly storageClassName?: string;
    readonly volumeMode?: VolumeMode;
  };
  readonly status?: {
    readonly phase?: "Pending" | "Available" | "Bound" | "Released" | "Failed";
    /** From Kubernetes 1.31 on. */
    readonly lastPhaseTransitionTime?: string;
  };
}

export interface StorageClass extends KubeObject {
  readonly kind: "StorageClass";
  readonly provisioner: string;
  readonly parameters?: StringMap;
  readonly allowVolumeExpansion?: boolean;
  readonly volumeBindingMode?: "Immediate" | "WaitForFirstConsumer";
}

export interface CsiDriver extends KubeObject {
  readonly kind: "CSIDriver";
}

export interface ContainerTermination {
  readonly exitCode: number;
  readonly reason?: string;
  readonly message?: string;
  readonly finishedAt?: string;
}

export interface ContainerState {
  readonly waiting?: { readonly reason?: string; readonly message?: string };
  readonly running?: { readonly startedAt?: string };
  readonly terminated?: ContainerTermination;
}

export interface ContainerStatus {
  readonly name: string;
  readonly image?: string;
  readonly ready?: boolean;
  readonly started?: boolean;
  readonly restartCount: number;
  readonly state?: ContainerState;
  readonly lastState?: ContainerState;
}

export interface PodCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
}

export interface PodVolume {
  readonly name: string;
  readonly persistentVolumeClaim?: { readonly claimName: string; readonly readOnly?: boolean };
  readonly configMap?: { readonly name: string };
  readonly secret?: { readonly secretName: string };
  readonly emptyDir?: Readonly<Record<string, unknown>>;
}

export interface EnvironmentVariable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly secretKeyRef?: { readonly name: string; readonly key: string; readonly optional?: boolean };
  };
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly imagePullPolicy?: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly EnvironmentVariable[];
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number; readonly protocol?: string }[];
  readonly resources?: Resources;
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string; readonly readOnly?: boolean }[];
  readonly volumeDevices?: readonly { readonly name: string; readonly devicePath: string }[];
  readonly terminationMessagePolicy?: string;
  readonly securityContext?: Readonly<Record<string, unknown>>;
}

export interface ConfigMap extends KubeObject {
  readonly kind: "ConfigMap";
  readonly data?: StringMap;
  /** In base64: what is no UTF-8, such as certificates with remarks in an older encoding. */
  readonly binaryData?: StringMap;
}

export interface Toleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
  readonly tolerationSeconds?: number;
}

export interface Pod extends KubeObject {
  readonly kind: "Pod";
  readonly spec: {
    readonly containers: readonly Container[];
    readonly initContainers?: readonly Container[];
    readonly volumes?: readonly PodVolume[];
    readonly restartPolicy?: string;
    readonly nodeName?: string;
    readonly nodeSelector?: StringMap;
    readonly tolerations?: readonly Toleration[];
    readonly affinity?: Readonly<Record<string, unknown>>;
    readonly priorityClassName?: string;
    readonly serviceAccountName?: string;
    readonly imagePullSecrets?: readonly { readonly name: string }[];
    readonly enableServiceLinks?: boolean;
    readonly securityContext?: Readonly<Record<string, unknown>>;
  };
  readonly status?: {
    readonly phase?: "Pending" | "Running" | "Succeeded" | "Failed" | "Unknown";
    readonly reason?: string;
    readonly message?: string;
    readonly podIP?: string;
    readonly conditions?: readonly PodCondition[];
    readonly containerStatuses?: readonly ContainerStatus[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
  };
}
