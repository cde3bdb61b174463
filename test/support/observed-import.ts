/**
 * Objects of an import, as small as a test of the plan needs them: each builder fills in what the API server would, and takes
 * what the test is about. The UID of an object is `<name>-uid` unless the test says another.
 */
import type { CdiConfig, DataVolume, StorageProfile, VolumeImportSource } from "../../controller/api/cdi.ts";
import type { Claim, CsiDriver, KubeObject, ObjectMeta, Pod, StorageClass, Volume } from "../../controller/api/kube.ts";
import { API_VERSION, GROUP, importSourceName, primeName, VOLUME_IMPORT_SOURCE } from "../../controller/api/names.ts";
import { controllerReference } from "../../controller/api/ownership.ts";
import type { Action } from "../../controller/plan/action.ts";
import type { ClusterFacts, ControllerSettings, ObservedImport } from "../../controller/plan/observed.ts";

export const NAMESPACE = "images";
export const NAME = "fedora";
/** Of a provisioner that has a CSIDriver in `facts()`; binds at once. */
export const CSI_CLASS = "csi";
/** The same provisioner, but waits for a consumer. */
export const WAITING_CSI_CLASS = "csi-waiting";
/** Of a provisioner without a CSIDriver; waits for a consumer. */
export const LOCAL_CLASS = "local-path";
export const CSI_PROVISIONER = "disks.example.org";

/** Shorthands for metadata; `metadata` itself comes last and wins. */
interface Described {
  readonly name?: string;
  readonly uid?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly owner?: KubeObject;
  readonly metadata?: Partial<ObjectMeta>;
}

type Overrides<T extends { readonly spec: object; readonly status?: unknown }> = Described & {
  readonly spec?: Partial<T["spec"]>;
  readonly status?: T["status"];
};

export function observed({
  cluster,
  ...overrides
}: Partial<Omit<ObservedImport, "cluster">> & { readonly cluster?: Partial<ClusterFacts> } = {}): ObservedImport {
  return {
    now: new Date("2026-09-01T12:00:00Z"),
    namespace: NAMESPACE,
    name: NAME,
    dataVolume: undefined,
    target: undefined,
    source: undefined,
    prime: undefined,
    worker: undefined,
    orphans: [],
    scratch: undefined,
    volume: undefined,
    promised: [],
    users: [],
    pending: undefined,
    rejected: undefined,
    progress: undefined,
    ...overrides,
    cluster: facts(cluster),
  };
}

export function facts(overrides: Partial<ClusterFacts> = {}): ClusterFacts {
  return {
    storageClasses: [
      storageClass({ name: CSI_CLASS }),
      storageClass({ name: WAITING_CSI_CLASS, volumeBindingMode: "WaitForFirstConsumer" }),
      storageClass({
        name: LOCAL_CLASS,
        provisioner: "rancher.io/local-path",
        volumeBindingMode: "WaitForFirstConsumer",
      }),
    ],
    profiles: [],
    csiDrivers: [csiDriver(CSI_PROVISIONER)],
    availableVolumes: [],
    config: undefined,
    cdi: undefined,
    settings: settings(),
    isCrowded: false,
    workers: { total: 0, byNode: new Map() },
    ...overrides,
  };
}

export function settings(overrides: Partial<ControllerSettings> = {}): ControllerSettings {
  return {
    workerImage: "registry.example.org/decant:1",
    imagePullPolicy: "IfNotPresent",
    verbosity: 1,
    maxImports: 0,
    maxImportsPerNode: 0,
    recommendedLabels: {},
    ...overrides,
  };
}

/** An http import into a `pvc` spec, unless the test says otherwise. */
export function dataVolume({ spec, status, ...described }: Overrides<DataVolume> = {}): DataVolume {
  return {
    apiVersion: API_VERSION,
    kind: "DataVolume",
    metadata: metadata(described, { name: NAME, uid: "dv-uid" }),
    spec: spec ?? {
      source: { http: { url: "http://images.example.org/fedora.qcow2" } },
      pvc: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, storageClassName: CSI_CLASS },
    },
    ...(status === undefined ? {} : { status }),
  };
}

/** A pending claim of 1Gi; its spec's fields are merged with the test's. */
export function claim({ spec, status, ...described }: Overrides<Claim> = {}): Claim {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: metadata(described, { name: NAME, uid: described.name === undefined ? "target-uid" : undefined }),
    spec: {
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: "1Gi" } },
      storageClassName: CSI_CLASS,
      volumeMode: "Filesystem",
      ...spec,
    },
    status: status ?? { phase: "Pending" },
  };
}

/** A target on the populator path: names a VolumeImportSource, as `importSource()` builds it. */
export function populatedClaim({ spec, ...rest }: Overrides<Claim> = {}): Claim {
  const reference = { apiGroup: GROUP, kind: VOLUME_IMPORT_SOURCE, name: importSourceName("dv-uid") };
  return claim({ ...rest, spec: { dataSource: reference, dataSourceRef: reference, ...spec } });
}

export function primeOf(target: Claim, { spec, ...rest }: Overrides<Claim> = {}): Claim {
  const name = primeName(target.metadata.uid ?? "");
  const { dataSource: _, dataSourceRef: __, ...own } = target.spec;
  return claim({ name, uid: "prime-uid", owner: target, spec: { ...own, ...spec }, ...rest });
}

export function importSource({ spec, ...described }: Overrides<VolumeImportSource> = {}): VolumeImportSource {
  return {
    apiVersion: API_VERSION,
    kind: VOLUME_IMPORT_SOURCE,
    metadata: metadata(described, { name: importSourceName("dv-uid"), uid: "source-uid" }),
    spec: { source: { http: { url: "http://images.example.org/fedora.qcow2" } }, ...spec },
  };
}

/** A worker pod, unless the test gives containers of its own. */
export function pod({ spec, status, ...described }: Overrides<Pod> = {}): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: metadata(described, { name: `importer-${NAME}`, uid: "pod-uid" }),
    spec: { containers: [{ name: "importer", image: settings().workerImage }], ...spec },
    ...(status === undefined ? {} : { status }),
  };
}

/** Bound to this claim. */
export function volumeOf(bound: Claim, { spec, status, ...described }: Overrides<Volume> = {}): Volume {
  const { namespace, name, uid } = bound.metadata;
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: clusterMetadata(described, { name: bound.spec.volumeName ?? "pvc-1", uid: "volume-uid" }),
    spec: {
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteOnce"],
      claimRef: {
        apiVersion: "v1",
        kind: "PersistentVolumeClaim",
        ...(namespace === undefined ? {} : { namespace }),
        name,
        ...(uid === undefined ? {} : { uid }),
        resourceVersion: "7",
      },
      persistentVolumeReclaimPolicy: "Delete",
      storageClassName: bound.spec.storageClassName ?? "",
      volumeMode: bound.spec.volumeMode ?? "Filesystem",
      ...spec,
    },
    status: status ?? { phase: "Bound" },
  };
}

export function storageClass({
  provisioner = CSI_PROVISIONER,
  parameters,
  allowVolumeExpansion,
  volumeBindingMode = "Immediate",
  ...described
}: Described & Partial<Omit<StorageClass, keyof KubeObject>> = {}): StorageClass {
  return {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: clusterMetadata(described, { name: CSI_CLASS, uid: undefined }),
    provisioner,
    volumeBindingMode,
    ...(parameters === undefined ? {} : { parameters }),
    ...(allowVolumeExpansion === undefined ? {} : { allowVolumeExpansion }),
  };
}

export function csiDriver(name: string): CsiDriver {
  return { apiVersion: "storage.k8s.io/v1", kind: "CSIDriver", metadata: { name, uid: `${name}-uid` } };
}

export function storageProfile(
  name: string,
  parts: Partial<Pick<StorageProfile, "spec" | "status">> = {},
): StorageProfile {
  return {
    apiVersion: API_VERSION,
    kind: "StorageProfile",
    metadata: { name, uid: `${name}-uid` },
    spec: {},
    ...parts,
  };
}

/** With these feature gates, and what else the test wants of its spec. */
export function cdiConfig(spec: CdiConfig["spec"] = {}, status: CdiConfig["status"] = {}): CdiConfig {
  return { apiVersion: API_VERSION, kind: "CDIConfig", metadata: { name: "config", uid: "config-uid" }, spec, status };
}

/** As a plan makes it, before the API server has given it a UID and a time. */
export function unborn<T extends KubeObject>(object: T): T {
  const { uid: _, creationTimestamp: __, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** The kinds of action in order, each with its object: `create PersistentVolumeClaim prime-…`, `event Bound`. */
export function outline(actions: readonly Action[]): string[] {
  return actions.map((action) => {
    if (action.do === "again") return "again";
    if (action.do === "event") return `event ${action.reason}`;
    const [kind, name] =
      action.do === "create"
        ? [action.object.kind, action.object.metadata.name]
        : [action.object.kind, action.object.name];
    return `${action.do} ${kind} ${name}`;
  });
}

type Usual = { readonly name: string; readonly uid: string | undefined };

function clusterMetadata(described: Described, usual: Usual): ObjectMeta {
  const { namespace: _, ...ofCluster } = metadata(described, usual);
  return ofCluster;
}

function metadata({ name, uid, annotations, labels, owner, metadata: more }: Described, usual: Usual): ObjectMeta {
  return {
    name: name ?? usual.name,
    namespace: NAMESPACE,
    uid: uid ?? usual.uid ?? `${name ?? usual.name}-uid`,
    resourceVersion: "1",
    creationTimestamp: "2026-09-01T11:00:00Z",
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
    ...(owner === undefined ? {} : { ownerReferences: [controllerReference(owner)] }),
    ...more,
  };
}
