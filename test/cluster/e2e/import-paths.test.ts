/**
 * A disk on its way from a web server to a claim, as an administrator's controller and a real cluster bring it there: sizes to the
 * byte, phases, annotations and events as clients of KubeVirt CDI know them, and nothing left over.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import type { Claim } from "../../../controller/api/kube.ts";
import { ANNOTATIONS, importSourceName, primeName } from "../../../controller/api/names.ts";
import { baseDisk } from "../../support/base-disk.ts";
import { changedImage, qemuImg } from "../../support/build-qcow2.ts";
import { makeAuthority } from "../../support/certificates.ts";
import { imageOf } from "../../support/qemu-images.ts";
import { withTemporaryFolder } from "../../support/temporary-folder.ts";
import { requireTools } from "../../support/tools.ts";
import { requireRunningCluster } from "../cluster.ts";
import { volumeFile } from "../objects.ts";
import { CSI_IMMEDIATE, LOCAL_PATH } from "../storage.ts";
import { createConsumer, diskFile, isDiskOf, untilRunning } from "./consumer.ts";
import { clusterWithController } from "./controller.ts";
import { withHistory } from "./history.ts";
import { withServedImages } from "./served-images.ts";

const skip = requireRunningCluster() || requireTools("nginx", "qemu-img", "openssl");
const MIB = 1024 * 1024;
const TEN_GIB = 10 * 1024 * MIB;
const CLAIM_OF_TEN_GIB = "11381663335";
const DISK_IN_TEN_GIB = 10129244160;

describe("imports from a web server", { skip }, () => {
  const cluster = clusterWithController();

  it("a storage spec on CSI: the disk has all that was asked for, by way of a prime claim that goes", async () => {
    await withServedImages(cluster, async ({ imports, urlOf, write }) => {
      const { namespace } = imports;
      const file = write("disk.qcow2", imageOfSize("10G"));
      await withHistory(cluster, namespace, async (history) => {
        const url = urlOf("disk.qcow2");
        await imports.start("disk", { http: { url } }, { storageClass: CSI_IMMEDIATE, size: "10Gi" });
        const { metadata } = await imports.untilSucceeded("disk");
        const claim = await imports.claim("disk");
        const { uid = "", annotations = {} } = claim.metadata;
        assert.equal(claim.status?.phase, "Bound");
        assert.equal(claim.spec.resources?.requests?.["storage"], CLAIM_OF_TEN_GIB);
        const expected = {
          [ANNOTATIONS.usePopulator]: "true",
          [ANNOTATIONS.prime]: primeName(uid),
          [ANNOTATIONS.populatorProgress]: "100.0%",
          [ANNOTATIONS.podPhase]: "Succeeded",
          [ANNOTATIONS.contentType]: "kubevirt",
        };
        for (const [name, value] of Object.entries(expected)) assert.equal(annotations[name], value, name);
        assert.equal(metadata.annotations?.[ANNOTATIONS.usePopulator], "true");

        await imports.untilGone("persistentvolumeclaims", primeName(uid));
        await imports.untilGone("pods", `importer-${primeName(uid)}`);
        await imports.untilGone("volumeimportsources", importSourceName(metadata.uid ?? ""));
        const volume = await imports.volumeOf(claim);
        assert.equal(volume.spec.persistentVolumeReclaimPolicy, "Delete");

        await createConsumer(cluster, "consumer", { namespace, claims: ["disk"] });
        const pod = await untilRunning(cluster, namespace, "consumer");
        isDiskOf(await diskFile(cluster, pod, "disk"), file, TEN_GIB);

        const phases = history.phases("disk").filter((phase) => phase !== "");
        const all = ["Pending", "ImportScheduled", "ImportInProgress", "Succeeded"];
        assert.deepEqual(phases, all.slice(all.length - phases.length), "some may be jumped over, and none comes back");
        assert.ok(phases.length >= 2, JSON.stringify([phases, history.events("DataVolume", "disk")]));
        assert.equal(history.progress("disk").at(-1), "100.0%");
        assert.equal(history.conditions("disk", "Ready").at(-1), "True");
        assert.equal(history.conditions("disk", "Bound").at(-1), "True Bound");
        assert.equal(history.conditions("disk", "Running").at(-1), "False Completed");
        const events = history.events("DataVolume", "disk");
        const told = [
          "Normal ImportScheduled: Import into disk scheduled",
          "Normal ImportInProgress: Import into disk in progress",
          "Normal ImportSucceeded: Successfully imported into PVC disk",
        ];
        assert.deepEqual(events, told.slice(told.length - events.length), "as phases are");
        assert.equal(events.length, phases.filter((phase) => phase !== "Pending").length);
      });
    });
  });

  it("a pvc spec, filled in place: the claim is as it stands, and the disk what fits beside the overhead", async () => {
    await withServedImages(cluster, async ({ imports, urlOf, write }) => {
      const { namespace } = imports;
      const file = write("disk.qcow2", imageOfSize("64M"));
      const pvc = {
        accessModes: ["ReadWriteOnce"],
        volumeMode: "Filesystem",
        storageClassName: LOCAL_PATH,
        resources: { requests: { storage: "10Gi" } },
      } as const;
      const annotations = { [ANNOTATIONS.immediateBind]: "" };
      const http = { url: urlOf("disk.qcow2") };
      await imports.start("disk", { http }, { annotations, spec: { storage: undefined, pvc } });
      await imports.untilSucceeded("disk");
      const claim = await imports.claim("disk");
      assert.equal(claim.spec.resources?.requests?.["storage"], "10Gi");
      assert.equal(claim.metadata.annotations?.[ANNOTATIONS.usePopulator], "false");
      await createConsumer(cluster, "consumer", { namespace, claims: ["disk"] });
      const pod = await untilRunning(cluster, namespace, "consumer");
      isDiskOf(await diskFile(cluster, pod, "disk"), file, DISK_IN_TEN_GIB);
    });
  });

  it("a block device: as large as it was asked for, and what follows the image is not touched", async () => {
    await withTemporaryFolder(async (folder) => {
      await withServedImages(cluster, async ({ imports, urlOf, write }) => {
        const file = write("disk.qcow2", imageOfSize("64M"));
        // The worker waits for it, with its claim bound.
        const http = { url: urlOf("disk.qcow2"), certConfigMap: "authority" };
        await imports.start("disk", { http }, { storageClass: CSI_IMMEDIATE, size: "1Gi", volumeMode: "Block" });
        const target = await imports.untilClaim("disk");
        const isBound = ({ status }: Claim): boolean => status?.phase === "Bound";
        const prime = await imports.untilClaim(primeName(target.metadata.uid ?? ""), isBound);
        assert.equal(prime.spec.resources?.requests?.["storage"], "1Gi");
        const device = volumeFile(cluster, await imports.volumeOf(prime));
        assert.equal(fs.statSync(device).size, 1024 * MIB);
        const mark = Buffer.alloc(MIB, "not yours");
        const places = [64 * MIB, 1023 * MIB];
        for (const place of places) writeAt(device, mark, place);
        await imports.create("configmaps", {
          metadata: { name: "authority" },
          data: { "ca.pem": makeAuthority(folder).certificate },
        });
        await imports.untilSucceeded("disk");
        const claim = await imports.claim("disk");
        assert.equal(claim.spec.resources?.requests?.["storage"], "1Gi");
        assert.equal(volumeFile(cluster, await imports.volumeOf(claim)), device);
        for (const place of places) assert.deepEqual(readAt(device, mark.length, place), mark, `at ${place}`);
        const head = path.join(folder, "head.raw");
        execFileSync("dd", [`if=${device}`, `of=${head}`, "bs=1M", "count=64", "status=none"]);
        isDiskOf(head, file, 64 * MIB);
      });
    });
  });
});

/** A compressed qcow2 of this virtual size, with a few MiB of data. */
function imageOfSize(virtualSize: string): Buffer {
  return changedImage(imageOf(baseDisk(16 * MIB), "qcow2", ["-c"]), (file) => {
    qemuImg("resize", "-q", file, virtualSize);
  });
}

function writeAt(file: string, bytes: Uint8Array, place: number): void {
  const descriptor = fs.openSync(file, "r+");
  fs.writeSync(descriptor, bytes, 0, bytes.length, place);
  fs.fsyncSync(descriptor);
  fs.closeSync(descriptor);
}

function readAt(file: string, length: number, place: number): Buffer {
  const descriptor = fs.openSync(file, "r");
  const bytes = Buffer.alloc(length);
  fs.readSync(descriptor, bytes, 0, length, place);
  fs.closeSync(descriptor);
  return bytes;
}
