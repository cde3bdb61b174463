/**
 * A filled volume between its prime and its target: the controller is killed, and a user deletes an object of the import before the
 * next one comes. Nothing is lost, and nothing stays.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Volume } from "../../../controller/api/kube.ts";
import { ANNOTATIONS } from "../../../controller/api/names.ts";
import { requireRunningCluster } from "../cluster.ts";
import { eventually } from "./eventually.ts";
import { withHeldImages } from "./held-images.ts";
import { assertEnds, DELETED, deleteObject, DISKS, objectsOf } from "./import-objects.ts";
import type { Deleted, ImportObjects } from "./import-objects.ts";
import type { Imports } from "./imports.ts";
import { clusterWithoutController, killBefore, patches, whileControlled } from "./killed-controller.ts";
import type { CallTest } from "./killed-controller.ts";

const skip = requireRunningCluster();
const POLICY = ["spec", "persistentVolumeReclaimPolicy"];

interface Moment {
  /** Case K03: the prime is deleted, and takes no volume along. */
  readonly title: string;
  readonly isNext: CallTest;
  /** Whose the volume is. */
  readonly holder: (objects: ImportObjects) => string | undefined;
  /** The volume's, when the prime is gone. */
  readonly phaseWithoutPrime: string;
}

const MOMENTS: readonly Moment[] = [
  {
    title: "K03: between Retain and the swap",
    isNext: patches("PersistentVolume", ["spec", "claimRef"]),
    holder: ({ prime }) => prime?.metadata.uid,
    phaseWithoutPrime: "Released",
  },
  {
    title: "K03: between the swap and the volume's own policy",
    isNext: patches("PersistentVolume", POLICY, "Delete"),
    holder: ({ target }) => target.metadata.uid,
    phaseWithoutPrime: "Bound",
  },
];

describe("an object that a user deletes while nobody hands the volume over", { skip }, () => {
  const cluster = clusterWithoutController();

  for (const { title, isNext, holder, phaseWithoutPrime } of MOMENTS) {
    it(title, async () => {
      await withHeldImages(cluster, DISKS, async ({ imports, urlOf, release }) => {
        release();
        for (const what of DELETED) await imports.start(what, { http: { url: urlOf(what) } }, { volumeMode: "Block" });
        await killBefore(cluster, (call) => (isNext(call) ? call.name : undefined), DELETED.length);
        const before = new Map<Deleted, ImportObjects>();
        for (const what of DELETED) {
          const objects = await objectsOf(imports, what);
          const volume = await volumeOf(imports, objects);
          assert.equal(volume.spec.persistentVolumeReclaimPolicy, "Retain");
          assert.equal(volume.metadata.annotations?.[ANNOTATIONS.originalReclaimPolicy], "Delete");
          assert.equal(volume.spec.claimRef?.uid, holder(objects));
          before.set(what, objects);
        }
        await Promise.all(
          [...before].map(async ([what, objects]) => {
            // It would keep the prime, which is to go before anybody looks.
            if (what === "prime" && objects.worker !== undefined) await deleteObject(imports, "worker", objects);
            await deleteObject(imports, what, objects);
          }),
        );
        const primeless = before.get("prime") ?? assert.fail();
        await eventually(async () => {
          assert.equal((await volumeOf(imports, primeless)).status?.phase, phaseWithoutPrime);
        });
        await whileControlled(cluster, async () => {
          await assertEnds(cluster, imports, before, ["source", "prime", "worker", "nothing"]);
        });
      });
    });
  }
});

async function volumeOf(imports: Imports, { prime }: ImportObjects): Promise<Volume> {
  assert.ok(prime);
  return await imports.volumeOf(prime);
}
