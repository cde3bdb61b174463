/**
 * Claims that a user made without a DataVolume, with a `dataSourceRef` to a VolumeImportSource: the populator fills them, by their
 * own annotations alone.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ImportSource } from "../../../controller/api/cdi.ts";
import type { StringMap } from "../../../controller/api/kube.ts";
import { ANNOTATIONS, API_VERSION, GROUP, primeName, VOLUME_IMPORT_SOURCE } from "../../../controller/api/names.ts";
import { baseDisk } from "../../support/base-disk.ts";
import { requireTools } from "../../support/tools.ts";
import { requireRunningCluster } from "../cluster.ts";
import { claim } from "../objects.ts";
import { CSI_IMMEDIATE, CSI_WAIT } from "../storage.ts";
import { createConsumer } from "./consumer.ts";
import { clusterWithController, withFeatureGates } from "./controller.ts";
import { withHistory } from "./history.ts";
import { Imports } from "./imports.ts";
import { withServedImages } from "./served-images.ts";

const skip = requireRunningCluster() || requireTools("nginx");
const DISK = baseDisk(4 * 1024 * 1024);
const NODE = "node-2";
const IMMEDIATE = { [ANNOTATIONS.immediateBind]: "" };

describe("claims by hand", { skip }, () => {
  const cluster = clusterWithController();

  it("two that name one source each get the disk", async () => {
    await withServedImages(cluster, async ({ imports, urlOf, write }) => {
      write("disk", DISK);
      await createSource(imports, "image", { http: { url: urlOf("disk") } });
      for (const name of ["one", "two"]) await createClaim(imports, name, "image", CSI_IMMEDIATE);
      for (const name of ["one", "two"]) {
        const bound = await imports.untilClaim(name, ({ status }) => status?.phase === "Bound");
        assert.equal(bound.metadata.annotations?.[ANNOTATIONS.podPhase], "Succeeded");
        await imports.untilGone("persistentvolumeclaims", primeName(bound.metadata.uid ?? ""));
        await imports.holds(name, DISK);
      }
      assert.equal((await imports.all("volumeimportsources")).length, 1, "the source belongs to its user");
    });
  });

  // Contract 6.1, where the gate is off and would have a DataVolume's claim annotated.
  it("that wait for a consumer: for a selected node, for none with the annotation, and with both on the node", async () => {
    await withFeatureGates(cluster, [], async () => {
      await cluster.withNamespace(async (namespace) => {
        const imports = new Imports(cluster, namespace);
        await withHistory(cluster, namespace, async (history) => {
          const nodeOfWorker = async (name: string): Promise<string | undefined> => {
            return (await history.untilMade("pods", await imports.workerName(name))).spec.nodeName;
          };
          const consume = async (name: string): Promise<void> => {
            await createConsumer(cluster, `uses-${name}`, { namespace, claims: [name], node: NODE, use: "holds" });
          };
          await createSource(imports, "blank", { blank: {} });
          await createClaim(imports, "node", "blank", CSI_WAIT);
          await createClaim(imports, "annotation", "blank", CSI_WAIT, IMMEDIATE);
          await createClaim(imports, "both", "late", CSI_WAIT, IMMEDIATE);
          await consume("both");
          await imports.untilClaim("both", ({ metadata }) => metadata.annotations?.[ANNOTATIONS.selectedNode] === NODE);
          await createSource(imports, "late", { blank: {} });
          assert.equal(await nodeOfWorker("both"), NODE);
          assert.equal(await nodeOfWorker("annotation"), undefined);
          assert.deepEqual(history.states("persistentvolumeclaims", await imports.primeName("node")), []);
          await consume("node");
          assert.equal(await nodeOfWorker("node"), NODE);
          for (const name of ["node", "annotation", "both"]) {
            await imports.untilClaim(name, ({ status }) => status?.phase === "Bound");
          }
        });
      });
    });
  });
});

async function createSource(imports: Imports, name: string, source: ImportSource): Promise<void> {
  const object = { apiVersion: API_VERSION, kind: VOLUME_IMPORT_SOURCE, metadata: { name }, spec: { source } };
  await imports.create("volumeimportsources", object);
}

async function createClaim(
  imports: Imports,
  name: string,
  source: string,
  storageClass: string,
  annotations: StringMap = {},
): Promise<void> {
  const dataSourceRef = { apiGroup: GROUP, kind: VOLUME_IMPORT_SOURCE, name: source };
  const object = claim(imports.namespace, name, { storageClass, dataSourceRef, annotations });
  await imports.create("persistentvolumeclaims", object);
}
