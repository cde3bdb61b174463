/**
 * Which changes the API server lets happen to an object that is there: none to a spec, as its clients mean it.
 */
import { describe, it } from "node:test";
import type { Api } from "../api.ts";
import { provideApiServer } from "../api-server.ts";
import { requireControlPlane } from "../control-plane.ts";
import { changed, createCrds, folderOf, goodObject, isInvalid, VDDK } from "./good-objects.ts";
import type { Sample } from "./good-objects.ts";

const skip = await requireControlPlane();

interface Case {
  readonly title: string;
  readonly kind: string;
  /** On the good object of the kind: what is there first. */
  readonly before?: object;
  readonly allowed?: readonly object[];
  readonly refused?: readonly object[];
}

const UNCHANGEABLE = "the spec cannot be changed; delete the object and create it anew";
const STAGES = [{ previous: "", current: "one" }];
const MORE_STAGES = [...STAGES, { previous: "one", current: "two" }];
const SIZE = (storage: unknown): object => ({ spec: { storage: { resources: { requests: { storage } } } } });

const CASES: readonly Case[] = [
  {
    title: "metadata and status change",
    kind: "DataVolume",
    allowed: [{ metadata: { annotations: { "example.org/note": "kept" }, labels: { os: "fedora" } } }, { status: {} }],
  },
  {
    title: "what a client in Go makes of the same spec is no change",
    kind: "DataVolume",
    before: {
      spec: {
        priorityClassName: "",
        source: { http: { secretRef: "", certConfigMap: "", extraHeaders: [] } },
        storage: { accessModes: [], volumeName: "", resources: { requests: { storage: "1024Mi" } } },
      },
    },
    allowed: [
      {
        spec: {
          priorityClassName: null,
          source: { http: { secretRef: null, certConfigMap: null, extraHeaders: null } },
          storage: { accessModes: null, volumeName: null, resources: { requests: { storage: "1Gi" } } },
        },
        status: {},
      },
      SIZE(1_073_741_824),
    ],
  },
  {
    title: "an empty resources is none",
    kind: "DataVolume",
    before: {
      spec: { source: { http: null, pvc: { namespace: "golden", name: "fedora" } }, storage: { resources: null } },
    },
    allowed: [{ spec: { storage: { resources: {} } } }],
    refused: [
      SIZE("1Gi"),
      { spec: { source: { pvc: { name: "debian" } } } },
      { spec: { source: { pvc: { namespace: "new" } } } },
    ],
  },
  {
    title: "the spec does not change",
    kind: "DataVolume",
    refused: [
      SIZE("2Gi"),
      { spec: { storage: { accessModes: ["ReadWriteOnce"] } } },
      { spec: { storage: { storageClassName: "fast" } } },
      { spec: { storage: { storageClassName: "" } } },
      { spec: { storage: { volumeMode: "Block" } } },
      { spec: { storage: { selector: { matchLabels: { os: "fedora" } } } } },
      { spec: { storage: null, pvc: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } } } },
      { spec: { source: { http: { url: "https://images.example.org/debian.qcow2" } } } },
      { spec: { source: { http: { secretRef: null } } } },
      { spec: { source: { http: { extraHeaders: ["X-One: 1"] } } } },
      { spec: { source: { http: { insecureSkipVerify: true } } } },
      { spec: { source: { http: null, blank: {} } } },
      { spec: { source: null, sourceRef: { kind: "DataSource", name: "fedora" } } },
      { spec: { priorityClassName: "high" } },
      { spec: { serviceAccountName: "importer" } },
      { spec: { contentType: "archive" } },
      { spec: { preallocation: false } },
      { spec: { checkpoints: STAGES } },
      { spec: { finalCheckpoint: true } },
    ],
  },
  {
    title: "a platform and a pull method do not change",
    kind: "DataVolume",
    before: { spec: { source: { http: null, registry: { url: "docker://registry.example.org/fedora" } } } },
    refused: [
      { spec: { source: { registry: { platform: { architecture: "arm64" } } } } },
      { spec: { source: { registry: { pullMethod: "node" } } } },
    ],
  },
  {
    title: "a reference does not change",
    kind: "DataVolume",
    before: { spec: { source: null, sourceRef: { kind: "DataSource", name: "fedora" } } },
    refused: [
      { spec: { sourceRef: { name: "debian" } } },
      { spec: { sourceRef: { namespace: "golden" } } },
      { spec: { sourceRef: null, source: { blank: {} } } },
    ],
  },
  {
    title: "an import in stages goes on",
    kind: "DataVolume",
    before: { spec: { source: { http: null, vddk: VDDK }, checkpoints: STAGES, finalCheckpoint: false } },
    allowed: [
      { spec: { checkpoints: MORE_STAGES } },
      { spec: { checkpoints: MORE_STAGES, finalCheckpoint: true } },
      { spec: { finalCheckpoint: null } },
    ],
    refused: [
      { spec: { checkpoints: MORE_STAGES, source: { vddk: { thumbprint: "CC:DD" } } } },
      { spec: { checkpoints: MORE_STAGES, storage: { volumeMode: "Block" } } },
      { spec: { checkpoints: null } },
      { spec: { checkpoints: [] } },
    ],
  },
  {
    title: "an import in stages goes on",
    kind: "VolumeImportSource",
    before: { spec: { source: { http: null, vddk: VDDK }, checkpoints: STAGES, targetClaim: "fedora" } },
    allowed: [{ spec: { checkpoints: MORE_STAGES, finalCheckpoint: true } }],
    refused: [{ spec: { checkpoints: null } }, { spec: { targetClaim: "debian", checkpoints: MORE_STAGES } }],
  },
  {
    title: "the spec does not change",
    kind: "VolumeImportSource",
    allowed: [{ metadata: { labels: { os: "fedora" } } }],
    refused: [
      { spec: { source: { http: { url: "https://images.example.org/debian.qcow2" } } } },
      { spec: { targetClaim: "fedora" } },
      { spec: { preallocation: true } },
      { spec: { contentType: "archive" } },
      { spec: { finalCheckpoint: true } },
    ],
  },
  {
    title: "the spec does not change",
    kind: "VolumeUploadSource",
    refused: [{ spec: { contentType: "archive" } }, { spec: { preallocation: true } }],
  },
  {
    title: "the spec does not change",
    kind: "DataImportCron",
    allowed: [{ status: { lastImportTimestamp: "2026-08-01T00:00:00Z" } }],
    refused: [
      { spec: { schedule: "" } },
      { spec: { importsToKeep: 4 } },
      { spec: { garbageCollect: "Never" } },
      { spec: { managedDataSource: "debian" } },
      { spec: { template: { metadata: { labels: { os: "debian" } } } } },
      { spec: { template: { spec: { source: { registry: { url: "docker://registry.example.org/debian" } } } } } },
      { spec: { template: SIZE("2Gi") } },
    ],
  },
  {
    title: "the spec does not change",
    kind: "ObjectTransfer",
    refused: [
      { spec: { target: { name: "debian" } } },
      { spec: { source: { name: "debian" } } },
      { spec: { parentName: "a" } },
    ],
  },
  {
    title: "everything changes",
    kind: "DataSource",
    allowed: [{ spec: { source: { pvc: { name: "fedora-42" } } } }, { spec: { source: { pvc: null } } }],
  },
  {
    title: "everything changes",
    kind: "CDIConfig",
    allowed: [{ spec: { featureGates: ["HonorWaitForFirstConsumer"], preallocation: true } }],
  },
];

describe("changes of objects", { skip }, () => {
  let api: Api;
  provideApiServer(async (server) => {
    ({ api } = server);
    await createCrds(api);
  });

  CASES.forEach(({ title, kind, before: first = {}, allowed = [], refused = [] }, index) => {
    it(`${kind}: ${title}`, async () => {
      const named = changed(goodObject(kind), { metadata: { name: `case-${index}` } });
      const object = await api.request<Sample>("POST", folderOf(kind), changed(named, first));
      for (const patch of allowed) await replace(object, patch);
      for (const patch of refused) {
        await isInvalid(replace(object, patch), patch, UNCHANGEABLE);
      }
    });
  });

  /** Writes the whole object back, as a client does that has read it. */
  async function replace(object: Sample, patch: object): Promise<void> {
    const { kind, metadata } = object;
    await api.request("PUT", `${folderOf(kind)}/${String(metadata["name"])}?dryRun=All`, changed(object, patch));
  }
});
