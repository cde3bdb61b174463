/**
 * Names that others read: annotations, labels, gates (contract 3.5, 4.4, 5.1), and those of our own under `decant.dev/`.
 * One place for each, so that a spelling is wrong everywhere or nowhere.
 */

export const GROUP = "cdi.kubevirt.io";
export const API_VERSION = `${GROUP}/v1beta1`;

/** In a StorageClass: its volumes are made by hand. */
export const NO_PROVISIONER = "kubernetes.io/no-provisioner";

/** Written by kubectl apply for itself: a whole second copy of the object. */
export const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** CDIConfig is one object of this name. */
export const CONFIG_NAME = "config";
export const DEFAULT_OVERHEAD = "0.06";

export const GATE_HONOR_WAIT_FOR_FIRST_CONSUMER = "HonorWaitForFirstConsumer";
export const GATE_CLAIM_ADOPTION = "DataVolumeClaimAdoption";

const own = (name: string): string => `${GROUP}/${name}`;
const storage = (name: string): string => own(`storage.${name}`);

/** Keys are short for their use in code; values are the whole names. */
export const ANNOTATIONS = {
  usePopulator: storage("usePopulator"),
  contentType: storage("contentType"),
  preallocationRequested: storage("preallocation.requested"),
  preallocation: storage("preallocation"),
  immediateBind: storage("bind.immediate.requested"),
  createdForDataVolume: own("createdForDataVolume"),
  populatedFor: storage("populatedFor"),
  prePopulated: storage("prePopulated"),
  checkStaticVolume: storage("checkStaticVolume"),
  volumeList: storage("persistentVolumeList"),
  allowClaimAdoption: own("allowClaimAdoption"),
  externalPopulation: own("externalPopulation"),

  populatorKind: storage("populator.kind"),
  populatorProgress: storage("populator.progress"),
  prime: storage("populator.pvcPrime"),

  importSource: storage("import.source"),
  importEndpoint: storage("import.endpoint"),
  importSecret: storage("import.secretName"),
  importCertConfigMap: storage("import.certConfigMap"),
  importInsecureSkipVerify: storage("import.insecureSkipVerify"),
  importChecksum: storage("import.checksum"),
  /** Followed by a number from 0. */
  importExtraHeaders: storage("import.extraHeaders."),
  importSecretExtraHeaders: storage("import.secretExtraHeaders."),
  importRegistryMethod: storage("import.registryImportMethod"),
  importRegistryImageStream: storage("import.registryImageStream"),
  importRegistryArchitecture: storage("import.registryImageArchitecture"),
  importDiskId: storage("import.diskId"),
  importUuid: storage("import.uuid"),
  importBackingFile: storage("import.backingFile"),
  importThumbprint: storage("import.vddk.thumbprint"),
  importPodName: storage("import.importPodName"),
  importRequiresScratch: storage("import.requiresScratch"),
  importRequiresDirectIo: storage("import.requiresDirectIo"),
  importFatalError: storage("import.fatalError"),

  podPhase: storage("pod.phase"),
  podReady: storage("pod.ready"),
  podRestarts: storage("pod.restarts"),
  podSchedulable: storage("pod.schedulable"),
  podRetain: storage("pod.retainAfterCompletion"),
  podPriorityClass: storage("pod.priorityclassname"),
  podServiceAccount: storage("pod.serviceAccountName"),
  podVddkInitImage: storage("pod.vddk.initimageurl"),
  podVddkExtraArgs: storage("pod.vddk.extraargs"),
  podCreatedByController: storage("createdByController"),

  checkpointCurrent: storage("checkpoint.current"),
  checkpointPrevious: storage("checkpoint.previous"),
  checkpointFinal: storage("checkpoint.final"),
  checkpointDone: storage("checkpoint.done"),

  running: storage("condition.running"),
  runningMessage: storage("condition.running.message"),
  runningReason: storage("condition.running.reason"),
  bound: storage("condition.bound"),
  boundMessage: storage("condition.bound.message"),
  boundReason: storage("condition.bound.reason"),

  /** The claim on a node that the scheduler chose; Kubernetes' own. */
  selectedNode: "volume.kubernetes.io/selected-node",
  migratedTo: "pv.kubernetes.io/migrated-to",
  defaultClass: "storageclass.kubernetes.io/is-default-class",
  defaultVirtClass: "storageclass.kubevirt.io/is-default-virt-class",

  /** On claims that CDI's other controllers would fill. */
  uploadTarget: storage("upload.target"),
  cloneRequest: "k8s.io/CloneRequest",

  minimumSupportedSize: own("minimumSupportedPvcSize"),
  configAuthority: own("configAuthority"),

  /** Of our own. */
  originalReclaimPolicy: "decant.dev/original-reclaim-policy",
  /** On a filled volume, `<namespace>/<name>/<uid>` of its target: together with the policy, until it has arrived. */
  meantFor: "decant.dev/meant-for",
  /** On a claim without a DataVolume: the newest warning, so that it is told once. */
  warned: "decant.dev/warned",
  /** A new value starts an import again that had ended. */
  retry: "decant.dev/retry",
  /** On the claim to fill: the value of `retry` that the last try answered. */
  retried: "decant.dev/retried",
  /** On the claim to fill: an ending that stays until `retry`. */
  terminal: "decant.dev/terminal",
  placementNodeSelector: "decant.dev/node-selector",
  placementTolerations: "decant.dev/tolerations",
  placementAffinity: "decant.dev/affinity",
} as const;

export const LABELS = {
  app: "app",
  component: "app.kubernetes.io/component",
  managedBy: "app.kubernetes.io/managed-by",
  fillingUp: "alerts.k8s.io/KubePersistentVolumeFillingUp",
  excludeFromBackup: "velero.io/exclude-from-backup",
  /** `importer` on a worker pod. */
  workerRole: GROUP,
  scrape: `prometheus.${GROUP}`,
  /** Asks CDI's webhook to complete a claim as the StorageProfile says. */
  applyProfile: own("applyStorageProfile"),
} as const;

/** What a virtual machine made from the disk should look like; copied to the DataVolume, all or none. */
export const INSTANCETYPE_LABELS: readonly string[] = [
  "instancetype.kubevirt.io/default-instancetype",
  "instancetype.kubevirt.io/default-instancetype-kind",
  "instancetype.kubevirt.io/default-preference",
  "instancetype.kubevirt.io/default-preference-kind",
];

export const APP = "containerized-data-importer";
export const MANAGED_BY = "cdi-controller";
export const COMPONENT = "storage";

export const DATA_VOLUME = "DataVolume";
export const VOLUME_IMPORT_SOURCE = "VolumeImportSource";

/** @param targetUid of the claim that the user wants */
export function primeName(targetUid: string): string {
  return `prime-${targetUid}`;
}

/** @param dataVolumeUid of the DataVolume that owns it */
export function importSourceName(dataVolumeUid: string): string {
  return `volume-import-source-${dataVolumeUid}`;
}
