/**
 * Storage that waits for the first consumer: the disk is made on the node where its user will run, whichever way the claim is
 * filled, and by itself only where somebody asks for that.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ANNOTATIONS, GATE_HONOR_WAIT_FOR_FIRST_CONSUMER } from "../../../controller/api/names.ts";
import { baseDisk } from "../../support/base-disk.ts";
import { imageOf } from "../../support/qemu-images.ts";
import { requireTools } from "../../support/tools.ts";
import { requireRunningCluster } from "../cluster.ts";
import { CSI_WAIT, LOCAL_PATH } from "../storage.ts";
import { createConsumer, diskFile, isDiskOf, untilRunning } from "./consumer.ts";
import { clusterWithController, withFeatureGates } from "./controller.ts";
import { withHistory } from "./history.ts";
import type { Imports } from "./imports.ts";
import { withServedImages } from "./served-images.ts";

const skip = requireRunningCluster() || requireTools("nginx", "qemu-img");
const MIB = 1024 * 1024;
const DISK = baseDisk(4 * MIB);
const IMAGE = imageOf(DISK, "qcow2", ["-c"]);
/** Of 32Mi in a folder of the machine. */
const GROWN = 32 * MIB;
/** The same on a filesystem of its own, which takes some for itself. */
const GROWN_ON_EXT4 = { least: 20 * MIB, most: GROWN };
const TAINT = { key: "test.decant/reserved", value: "yes", effect: "NoSchedule" };
const TOLERATION = { key: TAINT.key, operator: "Exists", effect: TAINT.effect };

describe("storage that waits for the first consumer", { skip }, () => {
  const cluster = clusterWithController();

  it("a consumer on node 2 has the disk of a populator there", async () => {
    await withImages(async ({ imports, file, url }) => {
      const { namespace } = imports;
      await withHistory(cluster, namespace, async (history) => {
        await imports.start("disk", { http: { url } }, { storageClass: CSI_WAIT });
        await imports.until("disk", ({ status }) => status?.phase === "PendingPopulation");
        assert.deepEqual(await imports.all("pods"), []);
        await createConsumer(cluster, "consumer", { namespace, claims: ["disk"], node: "node-2" });
        await imports.untilSucceeded("disk");
        const pod = await untilRunning(cluster, namespace, "consumer");
        assert.equal(pod.spec.nodeName, "node-2");
        assert.match(await nodesOf(imports, "disk"), /"node-2"/);
        isDiskOf(await diskFile(cluster, pod, "disk"), file, GROWN_ON_EXT4);
        isInOrder(history.phases("disk"), ["PendingPopulation", "ImportInProgress", "Succeeded"]);
        assert.ok(!history.phases("disk").includes("WaitForFirstConsumer"), history.phases("disk").join());
      });
    });
  });

  it("a consumer on node 2 binds the claims that are filled in place, and has both disks", async () => {
    await withImages(async ({ imports, file, url }) => {
      const { namespace } = imports;
      await withTaint("node-2", async () => {
        await withHistory(cluster, namespace, async (history) => {
          const annotations = { [ANNOTATIONS.placementTolerations]: JSON.stringify([TOLERATION]) };
          for (const name of ["first", "second"]) {
            await imports.start(name, { http: { url } }, { storageClass: LOCAL_PATH, annotations });
            await imports.until(name, ({ status }) => status?.phase === "WaitForFirstConsumer");
          }
          assert.deepEqual(await imports.all("pods"), [], "a worker would bind the claim somewhere");
          const claims = ["first", "second"];
          const consumer = { namespace, claims, node: "node-2", tolerations: [TOLERATION] };
          await createConsumer(cluster, "binder", { ...consumer, use: "ends" });
          await imports.untilSucceeded("first");
          await imports.untilSucceeded("second");
          await createConsumer(cluster, "consumer", consumer);
          const pod = await untilRunning(cluster, namespace, "consumer");
          for (const name of claims) {
            assert.match(await nodesOf(imports, name), /"node-2"/);
            isDiskOf(await diskFile(cluster, pod, name), file, GROWN);
            isInOrder(history.phases(name), ["WaitForFirstConsumer", "ImportInProgress", "Succeeded"]);
          }
        });
      });
    });
  });

  /** Runs `use` with an image that is served, while the gate is on. */
  async function withImages(use: (given: { imports: Imports; file: string; url: string }) => Promise<void>) {
    await withFeatureGates(cluster, [GATE_HONOR_WAIT_FOR_FIRST_CONSUMER], async () => {
      await withServedImages(cluster, async ({ imports, urlOf, write }) => {
        await use({ imports, file: write("disk.qcow2", IMAGE), url: urlOf("disk.qcow2") });
      });
    });
  }

  async function nodesOf(imports: Imports, name: string): Promise<string> {
    const { spec } = await imports.volumeOf(await imports.claim(name));
    return JSON.stringify(spec.nodeAffinity);
  }

  async function withTaint(node: string, use: () => Promise<void>): Promise<void> {
    await cluster.kubectl(["taint", "node", node, `${TAINT.key}=${TAINT.value}:${TAINT.effect}`, "--overwrite"]);
    try {
      await use();
    } finally {
      await cluster.kubectl(["taint", "node", node, `${TAINT.key}-`]);
    }
  }
});

/** What comes in between is left out. */
function isInOrder(seen: readonly string[], expected: readonly string[]): void {
  assert.deepEqual(
    seen.filter((value) => expected.includes(value)),
    expected,
    seen.join(),
  );
}
