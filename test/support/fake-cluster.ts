/**
 * A fake cluster with a CSI class and another one, the DataVolume that tests of the whole controller make in it, and what must
 * be true of it in the end.
 */
import assert from "node:assert/strict";
import type { KubeObject } from "../../controller/api/kube.ts";
import { allCrds } from "../../controller/crds/all-crds.ts";
import { FakeApiServer } from "./fake-api-server.ts";
import type { Call, Stored } from "./fake-api-server.ts";
import { FakeNodes } from "./fake-nodes.ts";
import type { FakeNodesOptions } from "./fake-nodes.ts";
import { CSI_CLASS, CSI_PROVISIONER, LOCAL_CLASS, NAME, NAMESPACE } from "./observed-import.ts";
import { until } from "./run-controller.ts";

export const WRITES: ReadonlySet<string> = new Set(["create", "patch", "delete"]);

export interface FakeCluster {
  readonly server: FakeApiServer;
  readonly nodes: FakeNodes;
}

export async function withFakeCluster(
  use: (cluster: FakeCluster) => Promise<void>,
  options: FakeNodesOptions = {},
): Promise<void> {
  const server = new FakeApiServer();
  await server.start();
  try {
    const nodes = new FakeNodes(server, options);
    for (const crd of allCrds()) server.create(crd);
    const classOf = (name: string, provisioner: string): object => {
      return { apiVersion: "storage.k8s.io/v1", kind: "StorageClass", metadata: { name }, provisioner };
    };
    server.create(classOf(CSI_CLASS, CSI_PROVISIONER) as KubeObject);
    server.create(classOf(LOCAL_CLASS, "rancher.io/local-path") as KubeObject);
    server.create({ apiVersion: "storage.k8s.io/v1", kind: "CSIDriver", metadata: { name: CSI_PROVISIONER } });
    await use({ server, nodes });
  } finally {
    await server.stop();
  }
}

/** Annotations of a DataVolume that waits for no consumer. */
export const IMMEDIATE = { "cdi.kubevirt.io/storage.bind.immediate.requested": "" };

export function storageDataVolume(
  storageClassName: string,
  annotations: Readonly<Record<string, string>> = {},
): KubeObject {
  return {
    apiVersion: "cdi.kubevirt.io/v1beta1",
    kind: "DataVolume",
    metadata: { namespace: NAMESPACE, name: NAME, annotations },
    spec: {
      source: { http: { url: "http://images.example.org/disk.qcow2" } },
      storage: { storageClassName, accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "10Gi" } } },
    },
  } as KubeObject;
}

export async function untilSucceeded(server: FakeApiServer): Promise<void> {
  const claims = (): Stored[] => server.all("PersistentVolumeClaim");
  await until(
    () => {
      const isDone = server.find("DataVolume", NAME, NAMESPACE)?.["status"]?.phase === "Succeeded";
      return (
        isDone && claims().length === 1 && server.all("Pod").length + server.all("VolumeImportSource").length === 0
      );
    },
    () =>
      JSON.stringify(
        ["DataVolume", "PersistentVolumeClaim", "PersistentVolume", "Pod"].map((kind) => server.all(kind)),
      ),
  );
}

/** One claim, bound to the one volume, which has its own policy again and holds the disk; none was lost. */
export function assertFilled(server: FakeApiServer, nodes: FakeNodes): void {
  assert.deepEqual(nodes.destroyed, []);
  const claim = server.find("PersistentVolumeClaim", NAME, NAMESPACE);
  const volumes = server.all("PersistentVolume");
  assert.equal(volumes.length, 1);
  assert.equal(claim?.["status"].phase, "Bound");
  assert.equal(claim?.["spec"].volumeName, volumes[0]?.metadata.name);
  assert.ok(nodes.filled.has(claim?.["spec"].volumeName));
  assert.equal(volumes[0]?.["spec"].persistentVolumeReclaimPolicy, "Delete");
  assert.equal(volumes[0]?.metadata.annotations, undefined);
}

/** Leases apart. */
export function isWrite({ verb, kind }: Call): boolean {
  return WRITES.has(verb) && kind !== "Lease";
}

export function shownCall({ verb, kind, name }: Call): string {
  return `${verb} ${kind} ${name}`;
}
