/**
 * A cluster full of objects that no sensible person writes, and an import in the middle of it: the import succeeds, whoever's
 * object is at fault is told, no plan fails, nothing is written over and over, and no log line shows a password.
 */
import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { KubeObject } from "../../controller/api/kube.ts";
import type { FakeApiServer, Stored } from "../support/fake-api-server.ts";
import { IMMEDIATE, isWrite, shownCall, storageDataVolume, withFakeCluster } from "../support/fake-cluster.ts";
import { CSI_CLASS, LOCAL_CLASS, NAME, NAMESPACE } from "../support/observed-import.ts";
import { startController, until } from "../support/run-controller.ts";

const CDI_VERSION = "cdi.kubevirt.io/v1beta1";
const SECRET = "hunter2";
const GARBAGE = `{"a":[${"x".repeat(250 * 1024)}`;
const LONG_NAME = `${"n".repeat(249)}.img`;
const URL = `http://somebody:${SECRET}@images.example.org/disk.qcow2`;
const CLAIM = {
  storageClassName: CSI_CLASS,
  accessModes: ["ReadWriteOnce"],
  resources: { requests: { storage: "1Gi" } },
};

const BLANK = { source: { blank: {} } };
const REFERENCE = { apiGroup: "cdi.kubevirt.io", kind: "VolumeImportSource", name: "blank" };

/** Of the cluster, and nobody's import. */
const AROUND: readonly Record<string, unknown>[] = [
  { apiVersion: "storage.k8s.io/v1", kind: "StorageClass", metadata: { name: "no-provisioner-at-all" } },
  {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name: "nonsense", annotations: { "storageclass.kubernetes.io/is-default-class": GARBAGE } },
    provisioner: "constructor",
    parameters: { __proto__: "x", type: GARBAGE },
    volumeBindingMode: "Whenever",
  },
  {
    apiVersion: CDI_VERSION,
    kind: "StorageProfile",
    metadata: { name: "nonsense", annotations: { "cdi.kubevirt.io/minimumSupportedPvcSize": "1e308" } },
    spec: {
      claimPropertySets: [{ accessModes: [], volumeMode: "Raw" }, {}],
      cloneStrategy: "guess",
      snapshotClass: "gone",
    },
    status: { claimPropertySets: [{}], conditions: [{ type: "Recognized" }] },
  },
  { apiVersion: CDI_VERSION, kind: "StorageProfile", metadata: { name: "of-no-class" }, spec: {} },
  {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: "no-claim" },
    spec: { capacity: { storage: "-1Gi" } },
  },
  {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: {
      name: "half-a-promise",
      annotations: { "decant.dev/meant-for": "///", "decant.dev/original-reclaim-policy": "" },
    },
    spec: { claimRef: {} },
  },
  { apiVersion: "v1", kind: "Pod", metadata: { namespace: NAMESPACE, name: "nothing-in-it" }, spec: {} },
  {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace: NAMESPACE, name: "worker-of-nobody", labels: { "cdi.kubevirt.io": "importer" } },
    spec: {},
  },
  {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { namespace: NAMESPACE, name: "asks-nothing" },
    spec: {},
  },
  {
    apiVersion: CDI_VERSION,
    kind: "VolumeImportSource",
    metadata: { namespace: NAMESPACE, name: "blank" },
    spec: BLANK,
  },
  {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { namespace: NAMESPACE, name: "by-nobody" },
    spec: { ...CLAIM, storageClassName: "no-provisioner-at-all", dataSourceRef: REFERENCE },
  },
  {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace: "decant", name: "proxy-ca" },
    data: { "ca.pem": "-----BEGIN", "": "" },
    binaryData: { "ca.der": "AAECAw==" },
  },
  {
    apiVersion: CDI_VERSION,
    kind: "CDIConfig",
    metadata: { name: "config" },
    spec: {
      featureGates: ["HonorWaitForFirstConsumer", GARBAGE],
      importProxy: { HTTPProxy: `http://somebody:${SECRET}@proxy.example.org`, trustedCAProxy: "proxy-ca" },
      filesystemOverhead: { global: "9", storageClass: { [CSI_CLASS]: "-1", nobody: "0.06" } },
      podResourceRequirements: { limits: { cpu: -1, memory: "much" } },
    },
  },
];

interface Row {
  readonly what: string;
  readonly object: KubeObject;
  /** Where it ends up: its phase, and a sentence in one of its conditions. */
  readonly phase: string | undefined;
  readonly says?: RegExp;
}

const SIZES: readonly (readonly [string, unknown, RegExp])[] = [
  ["negative", "-1Gi", /is not a quantity/],
  ["of nothing", "0", /less than 1Mi/],
  ["beyond all volumes", "9e99", /larger than any volume/],
  ["of 1,000 digits", "9".repeat(1000), /is not a quantity/],
  ["in words", "much", /is not a quantity/],
  ["of another type", { much: true }, /storage request is missing/],
];

const ROWS: readonly Row[] = [
  { what: "a name of 253 characters", object: dataVolume(LONG_NAME), phase: "Succeeded" },
  {
    what: "labels at their limits",
    object: dataVolume("labels", {
      labels: Object.fromEntries(
        Array.from({ length: 100 }, (_, i) => [`${"p".repeat(200)}.test/${i}`, "v".repeat(63)]),
      ),
    }),
    phase: "Succeeded",
  },
  {
    what: "annotations of garbage",
    object: dataVolume("placement", { annotations: { "decant.dev/node-selector": GARBAGE } }),
    phase: "Pending",
    says: /annotation decant\.dev\/node-selector is not a JSON object/,
  },
  {
    what: "a choice that is none",
    object: dataVolume("choice", { annotations: { "cdi.kubevirt.io/storage.usePopulator": GARBAGE } }),
    phase: undefined,
    says: /must be true or false/,
  },
  ...SIZES.map(([what, storage, says], index) => ({
    what: `a size ${what}`,
    object: dataVolume(`size-${index}`, {}, { storage: { ...CLAIM, resources: { requests: { storage } } } }),
    phase: undefined,
    says,
  })),
  {
    what: "a class without a provisioner",
    object: dataVolume("no-provisioner", {}, { storage: { ...CLAIM, storageClassName: "no-provisioner-at-all" } }),
    phase: "Succeeded",
  },
  {
    what: "a class of nonsense",
    object: dataVolume("nonsense", {}, { storage: { ...CLAIM, storageClassName: "nonsense" } }),
    phase: undefined,
    says: /the smallest volume that its StorageProfile allows is larger than any volume/,
  },
  {
    what: "a worker whose message is cut in the middle",
    object: dataVolume("cut"),
    phase: "ImportInProgress",
    says: /cut off, so that it is not known whether the disk is whole/,
  },
  { what: "a worker that says something else", object: dataVolume("text"), phase: "Succeeded" },
  { what: "a worker that brings labels of steering", object: dataVolume("labelled"), phase: "Succeeded" },
];

const ENDINGS: Readonly<Record<string, string>> = {
  cut: `{"scratchSpaceRequired":false,"message":"${"the image is too large ".repeat(400)}`.slice(0, 4096),
  text: "\u0000\ufffd done",
  labelled: JSON.stringify({
    message: "Import Complete",
    labels: {
      "cdi.kubevirt.io/applyStorageProfile": "true",
      "kubevirt.io/os": "x".repeat(64),
      "kubevirt.io/good": "yes",
    },
  }),
};

describe("a controller among strange objects", () => {
  const ends = new Map<Row, Stored>();
  let lines: readonly Readonly<Record<string, unknown>>[] = [];
  let writesAtRest: readonly string[] = [];
  let labels: unknown;
  let copy: Stored | undefined;

  before(async () => {
    const useCluster = async ({ server }: { readonly server: FakeApiServer }): Promise<void> => {
      for (const object of AROUND) server.create(object as unknown as KubeObject);
      const controller = startController(server.connect());
      await controller.started;
      for (const { object } of ROWS) server.create(object);
      server.create(storageDataVolume(LOCAL_CLASS, IMMEDIATE));
      const stateOf = ({ object }: Row): Stored =>
        server.find("DataVolume", object.metadata.name, NAMESPACE) ?? assert.fail();
      const isDone = (row: Row): boolean => {
        const { phase, conditions = [] } = stateOf(row)["status"] ?? {};
        const said = conditions.some(({ message = "" }: Stored) => row.says?.test(message) === true);
        return phase === row.phase && (row.says === undefined || said);
      };
      await until(
        () => ROWS.every(isDone) && server.find("DataVolume", NAME, NAMESPACE)?.["status"]?.phase === "Succeeded",
        () => JSON.stringify(ROWS.filter((row) => !isDone(row)).map((row) => [row.what, stateOf(row)["status"]])),
      );
      await sleep(300);
      const from = server.calls.length;
      await sleep(700);
      writesAtRest = server.calls.slice(from).filter(isWrite).map(shownCall);
      for (const row of ROWS) ends.set(row, stateOf(row));
      labels = server.find("PersistentVolumeClaim", "labelled", NAMESPACE)?.metadata.labels;
      copy = server.all("ConfigMap").find(({ metadata }) => metadata.namespace === NAMESPACE);
      await controller.stop();
      ({ lines } = controller);
    };
    const endOf = (pod: Stored) => {
      const said = ENDINGS[pod.metadata.labels?.["test"] ?? ""];
      return { exitCode: 0, message: said ?? JSON.stringify({ message: "Import Complete" }) };
    };
    await withFakeCluster(useCluster, { endOf });
  });

  for (const row of ROWS) {
    it(row.what, () => {
      const { phase, conditions } = ends.get(row)?.["status"] ?? {};
      assert.equal(phase, row.phase);
      for (const { message = "" } of conditions) assert.ok(Buffer.byteLength(message) <= 32_768);
    });
  }

  it("copies certificates as they are, whatever they are", () => {
    const [original] = AROUND.filter((one) => "binaryData" in one);
    assert.deepEqual([copy?.["data"], copy?.["binaryData"]], [original?.["data"], original?.["binaryData"]]);
  });

  it("takes no label that steers from an image", () => {
    assert.equal((labels as Record<string, string>)["kubevirt.io/good"], "yes");
    assert.equal((labels as Record<string, string>)["kubevirt.io/os"], undefined);
    assert.equal((labels as Record<string, string>)["cdi.kubevirt.io/applyStorageProfile"], undefined);
  });

  it("has no plan that fails", () => {
    assert.deepEqual(
      lines.filter(({ level, stack }) => level === "error" || stack !== undefined),
      [],
    );
  });

  it("says in its log what a user is warned of", () => {
    const [warning] = lines.filter(({ msg, name }) => msg === "a warning is told" && name === "size-0");
    assert.deepEqual(
      [warning?.["kind"], warning?.["namespace"], warning?.["reason"]],
      ["DataVolume", NAMESPACE, "ErrClaimNotValid"],
    );
  });

  it("shows no password in its log, nor in what it tells", () => {
    const shown = [...lines, ...ends.values()].map((one) => JSON.stringify("status" in one ? one["status"] : one));
    assert.deepEqual(
      shown.filter((text) => text.includes(SECRET)),
      [],
    );
  });

  it("is quiet when there is nothing to do", () => assert.deepEqual(writesAtRest, []));
});

function dataVolume(name: string, { annotations = {}, labels = {} } = {}, spec: object = {}): KubeObject {
  return {
    apiVersion: CDI_VERSION,
    kind: "DataVolume",
    metadata: { namespace: NAMESPACE, name, annotations, labels: { test: name.slice(0, 63), ...labels } },
    spec: {
      source: { http: { url: URL, extraHeaders: [`Authorization: Bearer ${SECRET}`] } },
      ...("storage" in spec ? spec : { pvc: CLAIM, ...spec }),
    },
  } as KubeObject;
}
