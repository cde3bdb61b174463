/**
 * Imports that no second try would mend: a wrong checksum, a claim that is too small, an image that is refused. One try, a
 * condition and an event that say why, and silence; a new value of decant.dev/retry starts them again.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createHash } from "node:crypto";
import { baseDisk } from "../../support/base-disk.ts";
import { sampleBytes } from "../../support/images.ts";
import { requireTools } from "../../support/tools.ts";
import { requireRunningCluster } from "../cluster.ts";
import { CSI_IMMEDIATE } from "../storage.ts";
import { clusterWithController } from "./controller.ts";
import { conditionOf } from "./imports.ts";
import type { Imports } from "./imports.ts";
import { withServedImages } from "./served-images.ts";
import type { ServedImages } from "./served-images.ts";

const skip = requireRunningCluster() || requireTools("nginx");
const MIB = 1024 * 1024;
/** A kubelet would have started a worker again by then, and the controller another one. */
const NO_TRY_WITHIN_MS = 15_000;

describe("an import that no second try would mend", { skip, concurrency: true }, () => {
  const cluster = clusterWithController();

  it("a wrong checksum: Failed", async () => {
    const disk = baseDisk(4 * MIB);
    await withServedImages(cluster, async ({ imports, urlOf, write, gets }) => {
      write("disk", baseDisk(4 * MIB, 8));
      const checksum = `sha256:${createHash("sha256").update(disk).digest("hex")}`;
      await imports.start("disk", { http: { url: urlOf("disk"), checksum } });
      await imports.untilStopped(
        "disk",
        "ChecksumError",
        /checksum mismatch: expected sha256:\w{64}, calculated sha256/,
      );
      assert.equal((await imports.until("disk", ({ status }) => status?.phase === "Failed")).status?.phase, "Failed");
      await staysAsItIs(imports, "disk", () => gets("disk"));
      await imports.untilEvent("disk", "Warning ImportFailed: Failed to import into PVC disk");
      await imports.untilEvent("disk", "Warning ChecksumError: ");

      write("disk", disk);
      await startsAgain(imports, "disk", disk);
    });
  });

  // Case K11: no download for ever.
  it("a claim that is too small: one try, and what size would do", async () => {
    await withServedImages(cluster, async (served) => {
      const image = sampleBytes("qcow2/two-partitions.qcow2");
      const message =
        /^DataVolume too small to contain image: .*67108864.* a claim of (\d+Mi) would work \[TARGET_TOO_SMALL\]$/;
      const said = await endsWith(served, image, message);
      const storage = message.exec(said)?.[1] ?? "";
      const pvc = {
        storageClassName: CSI_IMMEDIATE,
        accessModes: ["ReadWriteOnce"],
        resources: { requests: { storage } },
      } as const;
      await served.imports.start(
        "as-said",
        { http: { url: served.urlOf("disk") } },
        { spec: { storage: undefined, pvc } },
      );
      await served.imports.untilSucceeded("as-said");

      const disk = baseDisk(4 * MIB);
      served.write("disk", disk);
      await startsAgain(served.imports, "disk", disk);
    });
  });

  it("an image that is refused: one try, and why", async () => {
    await withServedImages(cluster, async (served) => {
      await endsWith(served, sampleBytes("qcow2/backing-file.qcow2"), /backing file.*\[FORMAT_UNSUPPORTED\]$/);
      const disk = baseDisk(4 * MIB);
      served.write("disk", disk);
      await startsAgain(served.imports, "disk", disk);
    });
  });

  it("a damaged image: one try, and where", async () => {
    const image = sampleBytes("qcow2/zlib.qcow2");
    await withServedImages(cluster, async (served) => {
      await endsWith(served, image.subarray(0, image.length / 2), /truncated.*\[FORMAT_INVALID\]$/);
    });
  });
});

/** Its phase stays ImportInProgress, which KubeVirt shows as DataVolumeError with the reason `Error`. */
async function endsWith(
  { imports, urlOf, write, gets }: ServedImages,
  image: Uint8Array,
  message: RegExp,
): Promise<string> {
  write("disk", image);
  await imports.start("disk", { http: { url: urlOf("disk") } });
  const dataVolume = await imports.untilStopped("disk", "Error", message);
  assert.equal(dataVolume.status?.phase, "ImportInProgress");
  await staysAsItIs(imports, "disk", () => gets("disk"));
  await imports.untilEvent("disk", "Warning Error: ", message);
  return conditionOf(dataVolume, "Running")?.message ?? "";
}

async function staysAsItIs(imports: Imports, name: string, gets: () => number): Promise<void> {
  const before = await imports.get(name);
  const asked = gets();
  await sleep(NO_TRY_WITHIN_MS);
  assert.deepEqual((await imports.get(name)).status, before.status);
  assert.equal(before.status?.restartCount, undefined);
  assert.equal(gets(), asked, "the image was asked for again");
  assert.equal(await imports.worker(name), undefined, "there is a worker");
}

async function startsAgain(imports: Imports, name: string, disk: Uint8Array): Promise<void> {
  await imports.patch("datavolumes", name, { metadata: { annotations: { "decant.dev/retry": "mended" } } });
  const dataVolume = await imports.untilSucceeded(name);
  assert.equal(conditionOf(dataVolume, "Running")?.reason, "Completed");
  assert.equal(conditionOf(dataVolume, "Ready")?.status, "True");
  await imports.holds(name, disk);
}
