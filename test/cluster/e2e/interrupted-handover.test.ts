/**
 * A filled volume between its prime and its target: the controller is killed when the volume is promised and before it changes
 * hands, and a user deletes one of the two claims at that moment. Nothing is lost, and nothing stays.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Claim, Volume } from "../../../controller/api/kube.ts";
import { ANNOTATIONS, primeName } from "../../../controller/api/names.ts";
import { baseDisk } from "../../support/base-disk.ts";
import { imageOf } from "../../support/qemu-images.ts";
import { requireTools } from "../../support/tools.ts";
import { requireRunningCluster } from "../cluster.ts";
import { createConsumer, diskFile, isDiskOf, untilRunning } from "./consumer.ts";
import { clusterWithController } from "./controller.ts";
import type { Imports } from "./imports.ts";
import { bringBack, killBefore } from "./killed-controller.ts";
import { withServedImages } from "./served-images.ts";

const skip = requireRunningCluster() || requireTools("nginx", "qemu-img");
const MIB = 1024 * 1024;
const PATIENCE_MS = 150_000;

interface Promised {
  readonly imports: Imports;
  readonly target: Claim;
  readonly volume: Volume;
  /** The disk has this content and size. */
  readonly isThere: () => Promise<void>;
}

describe("a handover that is interrupted", { skip }, () => {
  const cluster = clusterWithController(bringBack);

  it("the prime is deleted: the target gets the volume all the same", async () => {
    await withPromisedVolume(async ({ imports, target, volume, isThere }) => {
      const prime = primeName(target.metadata.uid ?? "");
      await imports.remove("persistentvolumeclaims", prime);
      await imports.untilGone("persistentvolumeclaims", prime);
      assert.equal((await volumeNow(volume)).status?.phase, "Released");
      await bringBack(cluster);
      await imports.untilSucceeded("disk");
      const bound = await imports.claim("disk");
      assert.equal(bound.spec.volumeName, volume.metadata.name);
      await untilRestored(volume);
      await isThere();
    });
  });

  it("the target is deleted: the volume goes by its policy, and the import begins again", async () => {
    await withPromisedVolume(async ({ imports, target, volume, isThere }) => {
      await imports.remove("persistentvolumeclaims", "disk");
      await imports.untilGone("persistentvolumeclaims", "disk");
      await bringBack(cluster);
      await cluster.api.untilGone(`/api/v1/persistentvolumes/${volume.metadata.name}`, PATIENCE_MS);
      await imports.untilSucceeded("disk");
      const bound = await imports.untilClaim("disk", ({ status }) => status?.phase === "Bound");
      assert.notEqual(bound.metadata.uid, target.metadata.uid);
      assert.notEqual(bound.spec.volumeName, volume.metadata.name);
      await isThere();
    });
  });

  /** The controller has promised a volume to its target, and is dead. */
  async function withPromisedVolume(use: (promised: Promised) => Promise<void>): Promise<void> {
    const image = imageOf(baseDisk(4 * MIB), "qcow2", ["-c"]);
    await withServedImages(cluster, async ({ imports, urlOf, write }) => {
      const file = write("disk.qcow2", image);
      let patches = 0;
      await killBefore(
        cluster,
        (verb, kind) => verb === "patch" && kind === "PersistentVolume" && ++patches === 2,
        async () => await imports.start("disk", { http: { url: urlOf("disk.qcow2") } }),
      );
      const target = await imports.claim("disk");
      const prime = await imports.claim(primeName(target.metadata.uid ?? ""));
      const place = `/api/v1/persistentvolumes/${prime.spec.volumeName}`;
      const volume = await cluster.api.get<Volume>(place);
      assert.equal(volume.spec.persistentVolumeReclaimPolicy, "Retain");
      assert.equal(volume.metadata.annotations?.[ANNOTATIONS.originalReclaimPolicy], "Delete");
      assert.equal(volume.spec.claimRef?.uid, prime.metadata.uid);
      const isThere = async (): Promise<void> => {
        const { namespace } = imports;
        await createConsumer(cluster, "consumer", { namespace, claims: ["disk"] });
        const pod = await untilRunning(cluster, namespace, "consumer");
        isDiskOf(await diskFile(cluster, pod, "disk"), file, { least: 20 * MIB, most: 32 * MIB });
      };
      await use({ imports, target, volume, isThere });
    });
  }

  async function volumeNow({ metadata }: Volume): Promise<Volume> {
    return await cluster.api.get<Volume>(`/api/v1/persistentvolumes/${metadata.name}`);
  }

  async function untilRestored({ metadata }: Volume): Promise<void> {
    const { spec, metadata: found } = await cluster.api.until<Volume>(
      `/api/v1/persistentvolumes/${metadata.name}`,
      (volume) => volume?.metadata.annotations?.[ANNOTATIONS.meantFor] === undefined,
      PATIENCE_MS,
    );
    assert.equal(spec.persistentVolumeReclaimPolicy, "Delete");
    assert.equal(found.annotations?.[ANNOTATIONS.originalReclaimPolicy], undefined);
  }
});
