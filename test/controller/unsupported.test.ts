/**
 * What KubeVirt's CDI does and this controller does not: whoever asks for it is told, once and in one sentence, by a condition
 * and an event, or by an event alone where an object has no conditions. Nothing is made that would wait for ever, and imports
 * beside it go on.
 */
import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import type { KubeObject } from "../../controller/api/kube.ts";
import type { FakeApiServer, Stored } from "../support/fake-api-server.ts";
import { isWrite, shownCall, storageDataVolume, withFakeCluster } from "../support/fake-cluster.ts";
import { CSI_CLASS, LOCAL_CLASS, NAMESPACE } from "../support/observed-import.ts";
import { startController, until } from "../support/run-controller.ts";

const CDI = { apiGroup: "cdi.kubevirt.io", name: "there" };
const PLACE = { namespace: "golden", name: "fedora" };
const VDDK = { url: "https://vcenter.example.org", uuid: "u", backingFile: "f", thumbprint: "t", secretRef: "s" };
const HTTP = { source: { http: { url: "http://images.example.org/disk.qcow2" } } };
const STAGES = [{ previous: "", current: "one" }];
const IMAGEIO = { url: "https://engine.example.org/ovirt-engine/api", diskId: "d", secretRef: "s" };

const CLAIM = {
  storageClassName: CSI_CLASS,
  accessModes: ["ReadWriteOnce"],
  resources: { requests: { storage: "1Gi" } },
};

const SOURCES = [
  { name: "vddk", spec: { source: { vddk: VDDK } }, says: /VMware/ },
  {
    name: "stages",
    spec: { source: { imageio: IMAGEIO }, checkpoints: STAGES, targetClaim: "claim-of-stages" },
    says: /several stages/,
  },
];

interface Row {
  readonly what: string;
  readonly object: KubeObject;
  readonly reason: string;
  readonly says: RegExp;
}

const ROWS: readonly Row[] = [
  ...[CSI_CLASS, LOCAL_CLASS].flatMap((storageClass) => [
    rowOf(`an upload, ${storageClass}`, { source: { upload: {} } }, /the source upload/, storageClass),
    rowOf(`a copy of a claim, ${storageClass}`, { source: { pvc: PLACE } }, /the source pvc/, storageClass),
    rowOf(
      `a copy of a snapshot, ${storageClass}`,
      { source: { snapshot: PLACE } },
      /the source snapshot/,
      storageClass,
    ),
    rowOf(
      `a DataSource, ${storageClass}`,
      { sourceRef: { kind: "DataSource", name: "fedora" } },
      /the source sourceRef/,
      storageClass,
    ),
    rowOf(`VMware, ${storageClass}`, { source: { vddk: VDDK } }, /VMware/, storageClass),
    rowOf(
      `an import in stages, ${storageClass}`,
      { source: { imageio: IMAGEIO }, checkpoints: STAGES },
      /several stages/,
      storageClass,
    ),
  ]),
  {
    what: "a copy without a size",
    object: dataVolume("no-size", { source: { pvc: PLACE }, storage: {} }),
    reason: "SourceNotSupported",
    says: /the source pvc/,
  },
  ...["VolumeUploadSource", "VolumeCloneSource"].map((kind) => ({
    what: `a DataVolume whose claim names a ${kind}`,
    object: dataVolume(`names-${kind.toLowerCase()}`, { pvc: { ...CLAIM, dataSourceRef: { ...CDI, kind } } }),
    reason: "SourceNotSupported",
    says: new RegExp(kind),
  })),
  ...["VolumeUploadSource", "VolumeCloneSource"].map((kind) => ({
    what: `a claim that names a ${kind}`,
    object: claim(`claim-${kind.toLowerCase()}`, { spec: { dataSourceRef: { ...CDI, kind } } }),
    reason: "SourceNotSupported",
    says: new RegExp(kind),
  })),
  {
    what: "a claim that is to be uploaded into, as virtctl makes it",
    object: claim("virtctl", {
      annotations: { "cdi.kubevirt.io/storage.upload.target": "" },
      labels: { "cdi.kubevirt.io/applyStorageProfile": "true" },
    }),
    reason: "SourceNotSupported",
    says: /uploads/,
  },
  {
    what: "a claim that asks for a copy by an annotation",
    object: claim("clone-request", { annotations: { "k8s.io/CloneRequest": "golden/fedora" } }),
    reason: "SourceNotSupported",
    says: /copies of claims/,
  },
  {
    what: "a claim that asks for the webhook",
    object: claim("webhook", { labels: { "cdi.kubevirt.io/applyStorageProfile": "true" } }),
    reason: "StorageProfileNotApplied",
    says: /has no effect here/,
  },
  ...SOURCES.map(({ name, says }) => ({
    what: `a claim that names a VolumeImportSource with ${name}`,
    object: claim(`claim-of-${name}`, { spec: { dataSourceRef: { ...CDI, kind: "VolumeImportSource", name } } }),
    reason: "SourceNotSupported",
    says,
  })),
  {
    what: "a DataImportCron",
    object: {
      apiVersion: "cdi.kubevirt.io/v1beta1",
      kind: "DataImportCron",
      metadata: { namespace: NAMESPACE, name: "fedora-cron" },
      spec: { schedule: "", managedDataSource: "fedora", template: {} },
    } as KubeObject,
    reason: "NotSupported",
    says: /does not look for new images/,
  },
];

describe("whoever asks for what is not supported is told", () => {
  let shown: (object: KubeObject) => Told;
  let writes: readonly string[] = [];

  before(async () => {
    const useCluster = async ({ server }: { readonly server: FakeApiServer }): Promise<void> => {
      for (const { name, spec } of SOURCES) server.create(importSource(name, spec));
      const controller = startController(server.connect());
      await controller.started;
      for (const { object } of ROWS) server.create(object);
      await until(
        () => ROWS.every(({ object, reason }) => eventsOf(server, object).some((one) => one["reason"] === reason)),
        () =>
          JSON.stringify(ROWS.filter(({ object }) => eventsOf(server, object).length === 0).map(({ what }) => what)),
      );
      const from = server.calls.length;
      server.create(storageDataVolume(CSI_CLASS));
      // The claims of the others stay.
      await until(
        () => server.find("DataVolume", "fedora", NAMESPACE)?.["status"]?.phase === "Succeeded",
        () => JSON.stringify(server.find("DataVolume", "fedora", NAMESPACE)),
      );
      writes = server.calls
        .slice(from)
        .filter(isWrite)
        .map(shownCall)
        .filter((call) => ROWS.some(({ object }) => call.includes(` ${object.metadata.name}`)));
      await controller.stop();
      const objects = new Map(ROWS.map(({ object }) => [object, toldOf(server, object)]));
      shown = (object) => objects.get(object) ?? assert.fail();
    };
    await withFakeCluster(useCluster);
  });

  for (const { what, object, reason, says } of ROWS) {
    it(what, () => {
      const { events, conditions, made } = shown(object);
      assert.deepEqual(
        events.map(({ type, reason: given }) => [type, given]),
        [["Warning", reason]],
      );
      assert.match(events[0]?.["message"], says);
      assert.deepEqual(made, [], "nothing is made for it");
      if (object.kind === "PersistentVolumeClaim") return;
      const type = object.kind === "DataVolume" ? "Bound" : "UpToDate";
      const condition = conditions.find((one) => one["type"] === type);
      assert.deepEqual([condition?.["status"], condition?.["reason"]], ["False", reason]);
      assert.match(condition?.["message"], says);
    });
  }

  it("and is told once", () => assert.deepEqual(writes, []));
});

describe("a claim with the label for the webhook", () => {
  it("is imported into all the same, and told of it once", async () => {
    await withFakeCluster(async ({ server }) => {
      const controller = startController(server.connect());
      await controller.started;
      server.create(importSource("there", HTTP));
      const object = claim("labelled", {
        labels: { "cdi.kubevirt.io/applyStorageProfile": "true" },
        spec: { dataSourceRef: { ...CDI, kind: "VolumeImportSource" } },
      });
      server.create(object);
      await until(
        () => server.find("PersistentVolumeClaim", "labelled", NAMESPACE)?.["status"].phase === "Bound",
        () => JSON.stringify(server.all("PersistentVolumeClaim")),
      );
      await controller.stop();
      const warnings = eventsOf(server, object).filter(({ type }) => type === "Warning");
      assert.deepEqual(
        warnings.map(({ reason }) => reason),
        ["StorageProfileNotApplied"],
      );
    });
  });
});

describe("a DataVolume whose claim names a VolumeImportSource", () => {
  it("is filled from it", async () => {
    await withFakeCluster(async ({ server }) => {
      const controller = startController(server.connect());
      await controller.started;
      server.create(importSource("there", HTTP));
      const reference = { ...CDI, kind: "VolumeImportSource" };
      server.create(dataVolume("fedora", { pvc: { ...CLAIM, dataSourceRef: reference } }));
      await until(
        () => server.find("DataVolume", "fedora", NAMESPACE)?.["status"]?.phase === "Succeeded",
        () => JSON.stringify(server.find("DataVolume", "fedora", NAMESPACE)),
      );
      await controller.stop();
      assert.ok(
        server.calls.some((call) => isWrite(call) && call.kind === "Pod"),
        "by a worker",
      );
      assert.ok(server.find("VolumeImportSource", "there", NAMESPACE) !== undefined, "which stays");
    });
  });
});

function rowOf(what: string, spec: object, says: RegExp, storageClassName: string): Row {
  const name = what.replaceAll(/[^a-z]+/gi, "-").toLowerCase();
  const object = dataVolume(name, { ...spec, pvc: { ...CLAIM, storageClassName } });
  return { what, object, reason: "SourceNotSupported", says };
}

function importSource(name: string, spec: object): KubeObject {
  const metadata = { namespace: NAMESPACE, name };
  return { apiVersion: "cdi.kubevirt.io/v1beta1", kind: "VolumeImportSource", metadata, spec } as KubeObject;
}

function dataVolume(name: string, spec: object): KubeObject {
  const metadata = { namespace: NAMESPACE, name };
  return { apiVersion: "cdi.kubevirt.io/v1beta1", kind: "DataVolume", metadata, spec } as KubeObject;
}

/** Of a class that binds nothing by itself, so that it waits. */
function claim(
  name: string,
  { spec = {}, ...metadata }: { readonly spec?: object; readonly annotations?: object; readonly labels?: object },
): KubeObject {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { namespace: NAMESPACE, name, ...metadata },
    spec: { ...CLAIM, ...("dataSourceRef" in spec ? {} : { storageClassName: "nobody" }), ...spec },
  } as KubeObject;
}

interface Told {
  readonly events: readonly Stored[];
  readonly conditions: readonly Stored[];
  /** Kinds of what has it for an owner. */
  readonly made: readonly string[];
}

function toldOf(server: FakeApiServer, object: KubeObject): Told {
  const found = server.find(object.kind, object.metadata.name, NAMESPACE);
  const owned = ["PersistentVolumeClaim", "VolumeImportSource", "Pod"].flatMap((kind) => server.all(kind));
  return {
    events: eventsOf(server, object),
    conditions: found?.["status"]?.conditions ?? [],
    made: owned
      .filter(({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === found?.metadata.uid))
      .map(({ kind }) => kind),
  };
}

function eventsOf(server: FakeApiServer, { kind, metadata: { name } }: KubeObject): readonly Stored[] {
  return server.all("Event").filter(({ involvedObject: on }) => on.kind === kind && on.name === name);
}
