/**
 * The kinds of `cdi.kubevirt.io/v1beta1`, as far as this controller reads or writes them (contract 1.2 to 1.8). The CRDs in
 * controller/crds say what the API server lets in.
 */
import type { AccessMode, ClaimSpec, KubeObject, Resources, StringMap, Toleration, VolumeMode } from "./kube.ts";

export interface HttpSource {
  readonly url: string;
  readonly secretRef?: string;
  readonly certConfigMap?: string;
  readonly extraHeaders?: readonly string[];
  readonly secretExtraHeaders?: readonly string[];
  readonly checksum?: string;
  readonly insecureSkipVerify?: boolean;
}

export interface ObjectStoreSource {
  readonly url: string;
  readonly secretRef?: string;
  readonly certConfigMap?: string;
}

export interface RegistrySource {
  readonly url?: string;
  readonly imageStream?: string;
  readonly pullMethod?: "pod" | "node";
  readonly secretRef?: string;
  readonly certConfigMap?: string;
  readonly platform?: { readonly architecture?: string };
}

export interface ImageioSource {
  readonly url: string;
  readonly diskId: string;
  readonly secretRef?: string;
  readonly certConfigMap?: string;
  readonly insecureSkipVerify?: boolean;
}

export interface VddkSource {
  readonly url?: string;
  readonly uuid?: string;
  readonly backingFile?: string;
  readonly thumbprint?: string;
  readonly secretRef?: string;
  readonly certConfigMap?: string;
  readonly initImageURL?: string;
  readonly extraArgs?: string;
}

/** Exactly one member is set. */
export interface ImportSource {
  readonly http?: HttpSource;
  readonly s3?: ObjectStoreSource;
  readonly gcs?: Omit<ObjectStoreSource, "certConfigMap">;
  readonly registry?: RegistrySource;
  readonly blank?: Readonly<Record<string, never>>;
  readonly imageio?: ImageioSource;
  readonly vddk?: VddkSource;
}

export interface DataVolumeSource extends ImportSource {
  readonly upload?: Readonly<Record<string, never>>;
  readonly pvc?: { readonly namespace: string; readonly name: string };
  readonly snapshot?: { readonly namespace: string; readonly name: string };
}

export type ContentType = "kubevirt" | "archive";

export interface Checkpoint {
  readonly previous: string;
  readonly current: string;
}

export type StorageSpec = Omit<ClaimSpec, "volumeAttributesClassName">;

export interface Condition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
  readonly lastHeartbeatTime?: string;
}

export interface DataVolumeStatus {
  readonly claimName?: string;
  readonly phase?: string;
  /** `N/A`, `45.31%`, `100.0%`. */
  readonly progress?: string;
  readonly restartCount?: number;
  readonly conditions?: readonly Condition[];
}

export interface DataVolume extends KubeObject {
  readonly kind: "DataVolume";
  readonly spec: {
    readonly source?: DataVolumeSource;
    readonly sourceRef?: { readonly kind: string; readonly name: string; readonly namespace?: string };
    readonly pvc?: ClaimSpec;
    readonly storage?: StorageSpec;
    readonly priorityClassName?: string;
    readonly serviceAccountName?: string;
    readonly contentType?: ContentType;
    readonly checkpoints?: readonly Checkpoint[];
    readonly finalCheckpoint?: boolean;
    readonly preallocation?: boolean;
  };
  readonly status?: DataVolumeStatus;
}

export interface VolumeImportSource extends KubeObject {
  readonly kind: "VolumeImportSource";
  readonly spec: {
    readonly source?: ImportSource;
    readonly preallocation?: boolean;
    readonly contentType?: ContentType;
    /** Only the claim of this name is filled. */
    readonly targetClaim?: string;
    readonly checkpoints?: readonly Checkpoint[];
    readonly finalCheckpoint?: boolean;
  };
}

/** As far as it is told that nobody acts on it. */
export interface DataImportCron extends KubeObject {
  readonly kind: "DataImportCron";
  readonly status?: { readonly conditions?: readonly Condition[] };
}

export interface ClaimPropertySet {
  readonly accessModes?: readonly AccessMode[];
  readonly volumeMode?: VolumeMode;
}

export type CloneStrategy = "copy" | "snapshot" | "csi-clone";

export interface StorageProfileSpec {
  readonly claimPropertySets?: readonly ClaimPropertySet[];
  readonly cloneStrategy?: CloneStrategy;
  readonly dataImportCronSourceFormat?: "snapshot" | "pvc";
  readonly snapshotClass?: string;
}

export interface StorageProfile extends KubeObject {
  readonly kind: "StorageProfile";
  readonly spec: StorageProfileSpec;
  readonly status?: StorageProfileSpec & {
    readonly storageClass?: string;
    readonly provisioner?: string;
    readonly conditions?: readonly Condition[];
  };
}

export interface ImportProxy {
  readonly HTTPProxy?: string;
  readonly HTTPSProxy?: string;
  readonly noProxy?: string;
  readonly trustedCAProxy?: string;
}

export interface FilesystemOverhead {
  readonly global?: string;
  readonly storageClass?: StringMap;
}

export interface CdiConfigSpec {
  readonly uploadProxyURLOverride?: string;
  readonly importProxy?: ImportProxy;
  readonly scratchSpaceStorageClass?: string;
  readonly podResourceRequirements?: Resources;
  readonly featureGates?: readonly string[];
  readonly webhookPvcRendering?: "Enabled" | "Disabled";
  readonly filesystemOverhead?: FilesystemOverhead;
  readonly preallocation?: boolean;
  readonly insecureRegistries?: readonly string[];
  readonly imagePullSecrets?: readonly { readonly name: string }[];
  readonly logVerbosity?: number;
}

export interface CdiConfig extends KubeObject {
  readonly kind: "CDIConfig";
  readonly spec: CdiConfigSpec;
  readonly status?: {
    readonly uploadProxyURL?: string;
    readonly importProxy?: ImportProxy;
    readonly scratchSpaceStorageClass?: string;
    readonly defaultPodResourceRequirements?: Resources;
    readonly filesystemOverhead?: FilesystemOverhead;
    readonly preallocation?: boolean;
    readonly imagePullSecrets?: readonly { readonly name: string }[];
  };
}

export interface Placement {
  readonly nodeSelector?: StringMap;
  readonly tolerations?: readonly Toleration[];
  readonly affinity?: Readonly<Record<string, unknown>>;
}

/** KubeVirt CDI's own object; optional here, and honoured if there is one. */
export interface Cdi extends KubeObject {
  readonly kind: "CDI";
  readonly spec: {
    readonly imagePullPolicy?: string;
    readonly workload?: Placement;
    readonly cloneStrategyOverride?: CloneStrategy;
    readonly config?: CdiConfigSpec;
    readonly priorityClass?: string;
  };
}
