/**
 * What one import looks like in the cluster at one moment: all that a plan may know. One import is one name in one namespace:
 * the DataVolume (none for a claim made by hand), its target claim, and what was made to fill it.
 */
import type { Cdi, CdiConfig, DataVolume, StorageProfile, VolumeImportSource } from "../api/cdi.ts";
import type { Claim, ConfigMap, CsiDriver, Pod, StorageClass, Volume } from "../api/kube.ts";

export interface ObservedImport {
  /** For times in conditions, and for what is due. */
  readonly now: Date;
  readonly namespace: string;
  readonly name: string;
  readonly dataVolume: DataVolume | undefined;
  /** The claim of this name, whoever made it. */
  readonly target: Claim | undefined;
  /** What the target's dataSourceRef names; for a DataVolume, the one of its UID. */
  readonly source: VolumeImportSource | undefined;
  /** `prime-<target's uid>`. */
  readonly prime: Claim | undefined;
  /** The worker pod of the claim to fill: the prime if there is one, else the target. */
  readonly worker: Pod | undefined;
  /**
   * Workers of primes that are being deleted, of earlier claims of this name. The garbage collector does not get to them: it
   * waits for the prime, and the prime for its pod. They too are a reason to plan this import.
   */
  readonly orphans: readonly Pod[];
  readonly scratch: Claim | undefined;
  /** The one that the prime's `spec.volumeName` names, else the target's. */
  readonly volume: Volume | undefined;
  /**
   * Volumes whose annotation `decant.dev/meant-for` (ANNOTATIONS.meantFor) starts with `<namespace>/<name>/`, whatever claim
   * they are of now and whether any claim of this name is left: filled ones on their way to the target, kept by the policy
   * Retain until they are there. Such a volume is a reason to plan this import, also when nothing else of it exists.
   */
  readonly promised: readonly Volume[];
  /** Pods not yet ended, other than the worker, that mount the claim to fill. */
  readonly users: readonly Pod[];
  /** Why a claim of this import is still Pending, in the words of its newest event. */
  readonly pending: { readonly claim: string; readonly reason: string; readonly message: string } | undefined;
  /** The newest warning about the worker while it is Pending, in the kubelet's words: it waits for a Secret, a ConfigMap, a volume. */
  readonly workerWarning?: { readonly reason: string; readonly message: string } | undefined;
  /** The copy of the proxy's certificates beside the claim to fill, if it was looked at in this pass. */
  readonly proxyCopy?: ConfigMap | "none" | undefined;
  /** What the API server refused to do for this import, while it is too early to ask again: the plan tells, and does not ask. */
  readonly rejected: Rejection | undefined;
  /** What the worker's metrics said last: `45.31%`. */
  readonly progress: string | undefined;
  readonly cluster: ClusterFacts;
}

/** Over quota, forbidden, invalid: asking again at once would be answered the same. */
export interface Rejection {
  readonly do: "create" | "patch" | "delete";
  readonly kind: string;
  readonly name: string;
  /** `Forbidden`, `Invalid`. */
  readonly reason: string;
  /** In the API server's words. */
  readonly message: string;
}

/** What holds for all imports. */
export interface ClusterFacts {
  readonly storageClasses: readonly StorageClass[];
  readonly profiles: readonly StorageProfile[];
  readonly csiDrivers: readonly CsiDriver[];
  /** Volumes in phase Available. */
  readonly availableVolumes: readonly Volume[];
  readonly config: CdiConfig | undefined;
  /** The active one. */
  readonly cdi: Cdi | undefined;
  readonly settings: ControllerSettings;
  /** So many imports wait for their turn that what is over in seconds is not worth a write. */
  readonly isCrowded: boolean;
  /** Of the proxy that workers go through; undefined: CDIConfig names none. */
  readonly proxyCertificates?: FoundCertificates | undefined;
  /** Worker pods that have not ended, of the whole cluster and by node. */
  readonly workers: { readonly total: number; readonly byNode: ReadonlyMap<string, number> };
}

/** What a ConfigMap holds, or why it cannot be had, as a sentence. */
export type FoundCertificates = Certificates | { readonly missing: string };

export type Certificates = Required<Pick<ConfigMap, "data" | "binaryData">>;

/** What the controller's command line and environment say. */
export interface ControllerSettings {
  /** Image of worker pods, and how it is pulled. */
  readonly workerImage: string;
  readonly imagePullPolicy: string;
  /** -v of worker pods. */
  readonly verbosity: number;
  /** 0: no limit. */
  readonly maxImports: number;
  readonly maxImportsPerNode: number;
  /** For app.kubernetes.io/part-of and /version, where an installer gives them. */
  readonly recommendedLabels: Readonly<Record<string, string>>;
}
