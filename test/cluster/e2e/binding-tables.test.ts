/**
 * Who starts an import whose storage waits for the first consumer, where nobody consumes: the annotation that asks for it, by its
 * presence, or a cluster whose gate is off. And claims that are there without a DataVolume.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { StringMap } from "../../../controller/api/kube.ts";
import {
  ANNOTATIONS,
  API_VERSION,
  GROUP,
  GATE_HONOR_WAIT_FOR_FIRST_CONSUMER,
  primeName,
} from "../../../controller/api/names.ts";
import { baseDisk } from "../../support/base-disk.ts";
import { requireTools } from "../../support/tools.ts";
import { requireRunningCluster } from "../cluster.ts";
import { claim } from "../objects.ts";
import { CSI_IMMEDIATE, CSI_WAIT, LOCAL_PATH } from "../storage.ts";
import { clusterWithController, withFeatureGates } from "./controller.ts";
import { withHistory } from "./history.ts";
import { withServedImages } from "./served-images.ts";

const skip = requireRunningCluster() || requireTools("nginx");
const MIB = 1024 * 1024;
const DISK = baseDisk(4 * MIB);
const IN_PLACE = { [ANNOTATIONS.usePopulator]: "false" };
const WAITING = ["WaitForFirstConsumer", "PendingPopulation"];

interface Row {
  readonly name: string;
  readonly storageClass: string;
  readonly annotations?: StringMap;
}

describe("imports that wait for nobody", { skip }, () => {
  const cluster = clusterWithController();

  const immediate = (value: string): StringMap => ({ [ANNOTATIONS.immediateBind]: value });

  it("with the gate: whoever has the annotation, whatever its value", async () => {
    await withFeatureGates(cluster, [GATE_HONOR_WAIT_FOR_FIRST_CONSUMER], async () => {
      await allSucceed([
        { name: "empty", storageClass: CSI_WAIT, annotations: immediate("") },
        { name: "yes", storageClass: CSI_WAIT, annotations: immediate("true") },
        { name: "no", storageClass: CSI_WAIT, annotations: immediate("false") },
        { name: "in-place", storageClass: LOCAL_PATH, annotations: immediate("false") },
        { name: "at-once", storageClass: CSI_IMMEDIATE },
        { name: "at-once-in-place", storageClass: CSI_IMMEDIATE, annotations: IN_PLACE },
      ]);
    });
  });

  it("without the gate: everybody", async () => {
    await withFeatureGates(cluster, [], async () => {
      await allSucceed([
        { name: "populator", storageClass: CSI_WAIT },
        { name: "in-place", storageClass: LOCAL_PATH },
        { name: "csi-in-place", storageClass: CSI_WAIT, annotations: IN_PLACE },
      ]);
    });
  });

  it("two claims that name one source each get the disk", async () => {
    await withServedImages(cluster, async ({ imports, urlOf, write }) => {
      const { namespace } = imports;
      write("disk", DISK);
      await cluster.api.request("POST", `/apis/${API_VERSION}/namespaces/${namespace}/volumeimportsources`, {
        apiVersion: API_VERSION,
        kind: "VolumeImportSource",
        metadata: { name: "image" },
        spec: { source: { http: { url: urlOf("disk") } } },
      });
      const dataSourceRef = { apiGroup: GROUP, kind: "VolumeImportSource", name: "image" };
      for (const name of ["one", "two"]) {
        await imports.create(
          "persistentvolumeclaims",
          claim(namespace, name, { storageClass: CSI_IMMEDIATE, dataSourceRef }),
        );
      }
      for (const name of ["one", "two"]) {
        const bound = await imports.untilClaim(name, ({ status }) => status?.phase === "Bound");
        assert.equal(bound.metadata.annotations?.[ANNOTATIONS.podPhase], "Succeeded");
        await imports.untilGone("persistentvolumeclaims", primeName(bound.metadata.uid ?? ""));
        await imports.holds(name, DISK);
      }
      const source = `/apis/${API_VERSION}/namespaces/${namespace}/volumeimportsources/image`;
      assert.ok(await cluster.api.find(source), "the source belongs to its user");
    });
  });

  async function allSucceed(rows: readonly Row[]): Promise<void> {
    await withServedImages(cluster, async ({ imports, urlOf, write }) => {
      write("disk", DISK);
      await withHistory(cluster, imports.namespace, async (history) => {
        for (const { name, ...options } of rows) {
          await imports.start(name, { http: { url: urlOf("disk") } }, options);
        }
        for (const { name } of rows) {
          await imports.untilSucceeded(name);
          await history.untilPhase(name, "Succeeded");
          const phases = history.phases(name);
          assert.ok(!phases.some((phase) => WAITING.includes(phase)), `${name}: ${phases.join()}`);
        }
      });
    });
  }
});
