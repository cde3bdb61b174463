/**
 * For every rule in the CRDs, what it lets pass and what it refuses. Each case is a merge patch on an object that is good.
 */
import { VDDK } from "./good-objects.ts";

export interface RuleCase {
  readonly kind: string;
  /** What the API server answers to `bad`: the rule's message. */
  readonly says: string;
  readonly good: readonly object[];
  readonly bad: readonly object[];
}

const storage = (size: unknown): object => ({ spec: { storage: { resources: { requests: { storage: size } } } } });
const source = (...members: readonly object[]): object => ({
  spec: { source: Object.assign({ http: null }, ...members) },
});
const pvc = (spec: object): object => {
  return { spec: { storage: null, pvc: { accessModes: ["ReadWriteOnce"], resources: ONE_GIBIBYTE, ...spec } } };
};
const digits = (count: number): string => "0123456789abcdefABCDEF".repeat(6).slice(0, count);

const ONE_GIBIBYTE = { requests: { storage: "1Gi" } };
const LONG_NAME = "n".repeat(64);
const SHORT_NAME = "n".repeat(63);
const CLONE = { pvc: { namespace: "golden", name: "fedora" } };
const SNAPSHOT_REFERENCE = { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: "yesterday" };
const IMAGEIO = { url: "https://engine.example.org/", diskId: "1", secretRef: "engine", certConfigMap: "engine" };
const REGISTRY = { registry: { url: "docker://registry.example.org:5000/fedora:41" } };
const CHECKPOINTS = [{ previous: "", current: "one" }];

/** Of objects with a source like a DataVolume's. */
function sourceCases(kind: string): readonly RuleCase[] {
  return [
    {
      kind,
      says: "give exactly one source:",
      good: [
        source({ s3: { url: "s3://bucket/disk.img" } }),
        source({ gcs: { url: "gs://bucket/disk.img" } }),
        source(REGISTRY),
        source({ blank: {} }),
        source({ imageio: IMAGEIO }),
        source({ vddk: VDDK }),
      ],
      bad: [source(), source({ blank: {} }, REGISTRY)],
    },
    {
      kind,
      says: "give a complete URL that starts with http:// or https://",
      good: [
        source({ http: { url: "http://[fd00::1]:8080/disk.img?token=1" } }),
        source({ imageio: { ...IMAGEIO, url: "http://engine/" } }),
      ],
      bad: [
        ...["", "example.org/disk.img", "/disk.img", "http:///disk.img", "ftp://example.org/d", "gs://bucket/d"].map(
          (url) => source({ http: { url } }),
        ),
        source({ imageio: { ...IMAGEIO, url: "engine" } }),
        source({ vddk: { ...VDDK, url: "vc.example.org" } }),
      ],
    },
    {
      kind,
      says: "give a complete URL that starts with http:// or https:// or s3://",
      good: [source({ s3: { url: "https://s3.example.org/bucket/disk.img" } })],
      bad: [source({ s3: { url: "bucket/disk.img" } })],
    },
    {
      kind,
      says: "give a complete URL that starts with http:// or https:// or gs://",
      good: [source({ gcs: { url: "https://storage.googleapis.com/bucket/disk.img" } })],
      bad: [source({ gcs: { url: "s3://bucket/disk.img" } })],
    },
    {
      kind,
      says: "write the checksum as algorithm:digits",
      good: [`md5:${digits(32)}`, `sha1:${digits(40)}`, `SHA256:${digits(64)}`, `sha512:${digits(128)}`, ""].map(
        withChecksum,
      ),
      bad: [`md5:${digits(31)}`, `sha256:${digits(63)}g`, `sha224:${digits(56)}`, digits(64)].map(withChecksum),
    },
    {
      kind,
      says: "give a URL that starts with docker:// or oci-archive:",
      good: [source({ registry: { url: "oci-archive:images/fedora.tar" } })],
      bad: ["https://registry.example.org/fedora", "registry.example.org/fedora", "docker://"].map((url) =>
        source({ registry: { url } }),
      ),
    },
    {
      kind,
      says: "give exactly one of url and imageStream",
      good: [source({ registry: { imageStream: "fedora", pullMethod: "node" } })],
      bad: [
        source({ registry: { pullMethod: "node" } }),
        source({ registry: { ...REGISTRY.registry, imageStream: "fedora", pullMethod: "node" } }),
      ],
    },
    {
      kind,
      says: "set pullMethod to node for an imageStream",
      good: [source({ registry: { ...REGISTRY.registry, pullMethod: "pod", platform: { architecture: "arm64" } } })],
      bad: [
        source({ registry: { imageStream: "fedora" } }),
        source({ registry: { imageStream: "f", pullMethod: "pod" } }),
      ],
    },
    {
      kind,
      says: "give a secretRef with the engine's user and password",
      good: [source({ imageio: IMAGEIO })],
      bad: [source({ imageio: { ...IMAGEIO, secretRef: "" } })],
    },
    {
      kind,
      says: "give a certConfigMap with the engine's authority, or set insecureSkipVerify",
      good: [source({ imageio: { ...IMAGEIO, certConfigMap: "", insecureSkipVerify: true } })],
      bad: [source({ imageio: { ...IMAGEIO, certConfigMap: "", insecureSkipVerify: false } })],
    },
    ...Object.keys(VDDK).map((name) => {
      const { [name]: _, ...others } = VDDK as Readonly<Record<string, string>>;
      return { kind, says: `give ${name}`, good: [source({ vddk: VDDK })], bad: [source({ vddk: others })] };
    }),
    {
      kind,
      says: "leave contentType out: the sources blank and registry hold a disk, not an archive",
      good: [
        { spec: { contentType: "archive" } },
        { spec: { ...spec(source({ blank: {} })), contentType: "kubevirt" } },
      ],
      bad: [source({ blank: {} }), source(REGISTRY)].map((one) => ({ spec: { ...spec(one), contentType: "archive" } })),
    },
  ];
}

function withChecksum(checksum: string): object {
  return { spec: { source: { http: { checksum } } } };
}

function spec(patch: object): object {
  return (patch as { readonly spec: object }).spec;
}

const claimCases: readonly RuleCase[] = [
  {
    kind: "DataVolume",
    says: "give exactly one of pvc and storage",
    good: [pvc({})],
    bad: [{ spec: { storage: null } }, { spec: { pvc: { accessModes: ["ReadWriteOnce"], resources: ONE_GIBIBYTE } } }],
  },
  {
    kind: "DataVolume",
    says: "resources.requests.storage must be at least 1Mi",
    good: ["1Mi", "1.5Gi", "10G", 1_048_576, "1e9"].map(storage),
    bad: ["0", "-1Gi", "1023Ki", 1_048_575, "1m"].map(storage),
  },
  {
    kind: "DataVolume",
    says: "give the size in pvc.resources.requests.storage",
    good: [pvc({ resources: { requests: { storage: "2Gi" }, limits: { storage: "3Gi" } } })],
    bad: [pvc({ resources: {} }), { spec: { ...spec(pvc({ resources: null })), ...spec(source(CLONE)) } }],
  },
  {
    kind: "DataVolume",
    says: "give the size in storage.resources.requests.storage; only a copy may go without",
    good: [
      { spec: { storage: { resources: null }, ...spec(source(CLONE)) } },
      { spec: { storage: { resources: { requests: null } }, ...spec(source({ snapshot: CLONE.pvc })) } },
      { spec: { storage: { resources: {} }, source: null, sourceRef: { kind: "DataSource", name: "fedora" } } },
    ],
    bad: [{ spec: { storage: { resources: null } } }, { spec: { storage: { resources: { requests: null } } } }],
  },
  {
    kind: "DataVolume",
    says: "give exactly one access mode in accessModes",
    good: ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"].map((m) => pvc({ accessModes: [m] })),
    bad: [
      pvc({ accessModes: [] }),
      pvc({ accessModes: null }),
      pvc({ accessModes: ["ReadWriteOnce", "ReadOnlyMany"] }),
    ],
  },
  {
    kind: "DataVolume",
    says: "Unsupported value",
    good: [{ spec: { storage: { accessModes: ["ReadWriteOnce", "ReadWriteMany"], volumeMode: "Block" } } }],
    bad: [{ spec: { storage: { accessModes: ["ReadWriteTwice"] } } }, pvc({ accessModes: ["ReadWriteTwice"] })],
  },
  {
    kind: "DataVolume",
    says: "Too long: may not be more than 253",
    good: [
      { spec: { storage: { storageClassName: "s".repeat(253) } } },
      { spec: { storage: { storageClassName: "" } } },
    ],
    bad: [{ spec: { storage: { storageClassName: "s".repeat(254) } } }],
  },
  {
    kind: "DataVolume",
    says: "give exactly one of source and sourceRef",
    good: [{ spec: { source: null, sourceRef: { kind: "DataSource", name: "fedora", namespace: "golden" } } }],
    bad: [{ spec: { source: null } }, { spec: { sourceRef: { kind: "DataSource", name: "fedora" } } }],
  },
  {
    kind: "DataVolume",
    says: "spec.sourceRef",
    good: [{ spec: { source: null, sourceRef: { kind: "DataSource", name: "fedora" } } }],
    bad: [
      { spec: { source: null, sourceRef: { kind: "PersistentVolumeClaim", name: "fedora" } } },
      { spec: { source: null, sourceRef: { kind: "DataSource", name: "" } } },
      { spec: { source: null, sourceRef: { kind: "DataSource" } } },
    ],
  },
  {
    kind: "DataVolume",
    says: "give source or sourceRef, or a dataSource or dataSourceRef in the claim, not both",
    good: [
      { spec: { source: null, storage: { dataSource: SNAPSHOT_REFERENCE } } },
      { spec: { source: null, ...spec(pvc({ dataSourceRef: SNAPSHOT_REFERENCE })) } },
    ],
    bad: [
      { spec: { storage: { dataSource: SNAPSHOT_REFERENCE } } },
      {
        spec: {
          source: null,
          sourceRef: { kind: "DataSource", name: "f" },
          ...spec(pvc({ dataSourceRef: SNAPSHOT_REFERENCE })),
        },
      },
    ],
  },
  {
    kind: "DataVolume",
    says: "give dataSource or dataSourceRef, not both",
    good: [{ spec: { source: null, storage: { dataSourceRef: SNAPSHOT_REFERENCE } } }],
    bad: [{ spec: { source: null, storage: { dataSource: SNAPSHOT_REFERENCE, dataSourceRef: SNAPSHOT_REFERENCE } } }],
  },
  {
    kind: "DataVolume",
    says: "give the apiGroup of what is referred to, unless it is a PersistentVolumeClaim",
    good: [{ spec: { source: null, storage: { dataSource: { kind: "PersistentVolumeClaim", name: "fedora" } } } }],
    bad: [
      { spec: { source: null, storage: { dataSource: { ...SNAPSHOT_REFERENCE, apiGroup: null } } } },
      { spec: { source: null, storage: { dataSourceRef: { ...SNAPSHOT_REFERENCE, apiGroup: "" } } } },
    ],
  },
  {
    kind: "DataVolume",
    says: "leave namespace out: only what is in the same namespace can be referred to",
    good: [{ spec: { source: null, storage: { dataSourceRef: { ...SNAPSHOT_REFERENCE, namespace: "" } } } }],
    bad: [{ spec: { source: null, storage: { dataSourceRef: { ...SNAPSHOT_REFERENCE, namespace: "golden" } } } }],
  },
];

const template = (patch: object): object => ({ spec: { template: { spec: patch } } });

const otherCases: readonly RuleCase[] = [
  ...["VolumeImportSource", "VolumeUploadSource", "DataImportCron"].map((kind) => ({
    kind,
    says: "give it a name of at most 63 characters",
    good: [{ metadata: { name: SHORT_NAME } }],
    bad: [{ metadata: { name: LONG_NAME } }],
  })),
  { kind: "VolumeImportSource", says: "give a source", good: [{}], bad: [{ spec: { source: null } }] },
  {
    kind: "VolumeImportSource",
    says: "give the targetClaim that an import in stages is for",
    good: [{ spec: { ...spec(source({ vddk: VDDK })), checkpoints: CHECKPOINTS, targetClaim: "fedora" } }],
    bad: [{ spec: { ...spec(source({ vddk: VDDK })), checkpoints: CHECKPOINTS } }],
  },
  {
    kind: "VolumeCloneSource",
    says: "Unsupported value",
    good: [{ spec: { source: SNAPSHOT_REFERENCE } }],
    bad: [{ spec: { source: { kind: "ConfigMap", name: "fedora" } } }],
  },
  {
    kind: "StorageProfile",
    says: "give access modes out of ReadWriteOnce, ReadOnlyMany, ReadWriteMany, ReadWriteOncePod",
    good: [{ spec: { claimPropertySets: [{ accessModes: ["ReadWriteMany", "ReadWriteOnce"], volumeMode: "Block" }] } }],
    bad: [{ spec: { claimPropertySets: [{ accessModes: ["ReadWriteTwice"], volumeMode: "Block" }] } }],
  },
  {
    kind: "StorageProfile",
    says: "spec.claimPropertySets",
    good: [{ spec: { claimPropertySets: [] } }],
    bad: [
      { spec: { claimPropertySets: [{ accessModes: ["ReadWriteOnce"] }] } },
      { spec: { claimPropertySets: [{ volumeMode: "Block" }] } },
      { spec: { claimPropertySets: [{ accessModes: ["ReadWriteOnce"], volumeMode: "Raw" }] } },
      {
        spec: {
          claimPropertySets: Array.from({ length: 9 }, () => ({ accessModes: ["ReadWriteOnce"], volumeMode: "Block" })),
        },
      },
    ],
  },
  {
    kind: "DataSource",
    says: "give only one of pvc, snapshot and dataSource",
    good: [{ spec: { source: { pvc: null } } }, { spec: { source: { pvc: null, dataSource: CLONE.pvc } } }],
    bad: [{ spec: { source: { snapshot: CLONE.pvc } } }],
  },
  {
    kind: "DataImportCron",
    says: "give a cron line of five fields",
    good: ["", "*/5 0-6 1,15 * MON-FRI", "@daily", "@every 12h", "TZ=Europe/Berlin 0 6 * * *"].map(scheduled),
    bad: ["0 0 * *", "daily", "@often", "0 0 * * !"].map(scheduled),
  },
  {
    kind: "DataImportCron",
    says: "give a managedDataSource of at most 63 characters",
    good: [{ spec: { managedDataSource: SHORT_NAME } }],
    bad: [{ spec: { managedDataSource: LONG_NAME } }],
  },
  {
    kind: "DataImportCron",
    says: "give the template a source: registry or pvc",
    good: [template({ source: { registry: null, ...CLONE } })],
    bad: [template({ source: { registry: null, blank: {} } })],
  },
  {
    kind: "DataImportCron",
    says: "leave sourceRef and contentType out of the template",
    good: [template({ contentType: "" })],
    bad: [
      template({ contentType: "kubevirt" }),
      template({ source: null, sourceRef: { kind: "DataSource", name: "f" } }),
    ],
  },
  {
    kind: "DataImportCron",
    says: "leave checkpoints and finalCheckpoint out of the template",
    good: [template({ checkpoints: [], finalCheckpoint: false })],
    bad: [template({ checkpoints: CHECKPOINTS }), template({ finalCheckpoint: true })],
  },
  {
    kind: "DataImportCron",
    says: "resources.requests.storage must be at least 1Mi",
    good: [template({ storage: { resources: { requests: { storage: "30Gi" } } } })],
    bad: [template({ storage: { resources: { requests: { storage: "30" } } } })],
  },
  {
    kind: "DataImportCron",
    says: "spec.",
    good: [{ spec: { importsToKeep: 0, garbageCollect: "Never", retentionPolicy: "None" } }],
    bad: [{ spec: { importsToKeep: -1 } }, { spec: { garbageCollect: "Always" } }, { spec: { managedDataSource: "" } }],
  },
  ...["CDIConfig", "CDI"].map((kind) => {
    const overhead = (filesystemOverhead: object): object => {
      return { spec: kind === "CDI" ? { config: { filesystemOverhead } } : { filesystemOverhead } };
    };
    return {
      kind,
      says: "should match",
      good: [overhead({ global: "0.055", storageClass: { local: "0", csi: "1" } })],
      bad: ["1.5", "0.0555", "-0.1", "6%", ".06"].map((global) => overhead({ global })),
    };
  }),
  {
    kind: "ObjectTransfer",
    says: "give a namespace or a name",
    good: [{ spec: { target: { namespace: null, name: "fedora" } } }],
    bad: [{ spec: { target: { namespace: "" } } }],
  },
];

function scheduled(schedule: string): object {
  return { spec: { schedule } };
}

export const RULE_CASES: readonly RuleCase[] = [
  ...claimCases,
  ...sourceCases("DataVolume"),
  ...sourceCases("VolumeImportSource"),
  ...otherCases,
];
