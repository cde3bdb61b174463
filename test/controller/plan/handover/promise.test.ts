import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { ANNOTATIONS } from "../../../../controller/api/names.ts";
import { applyPatch } from "../../../../controller/plan/draft.ts";
import { endPromise, isMeantFor, makePromise, promisedVolume } from "../../../../controller/plan/handover/promise.ts";
import { populatedClaim, primeOf, unborn, volumeOf } from "../../../support/observed-import.ts";

const target = populatedClaim();
const prime = primeOf(target);

describe("a promise", () => {
  for (const policy of ["Delete", "Retain", "Recycle"] as const) {
    it(`keeps a volume by Retain, and gives ${policy} back`, () => {
      const volume = volumeOf(prime, { spec: { persistentVolumeReclaimPolicy: policy }, annotations: { other: "1" } });
      const promised = applyPatch(volume, makePromise(volume, target.metadata));
      assert.equal(promised.spec.persistentVolumeReclaimPolicy, "Retain");
      assert.deepEqual(promised.metadata.annotations, {
        other: "1",
        "decant.dev/original-reclaim-policy": policy,
        "decant.dev/meant-for": "images/fedora/target-uid",
      });
      assert.deepEqual(applyPatch(promised, endPromise(promised)), volume);
    });
  }

  it("counts no policy as Retain, as the API server does", () => {
    const { persistentVolumeReclaimPolicy: _, ...spec } = volumeOf(prime).spec;
    const volume = { ...volumeOf(prime), spec };
    const promised = applyPatch(volume, makePromise(volume, target.metadata));
    assert.equal(promised.metadata.annotations?.[ANNOTATIONS.originalReclaimPolicy], "Retain");
  });

  it("ends with the policy as it is where its annotation is none", () => {
    for (const original of ["", "delete", "Delete ", "x".repeat(10_000)]) {
      const volume = volumeOf(prime, { annotations: { [ANNOTATIONS.originalReclaimPolicy]: original } });
      assert.equal(endPromise(volume)["spec"], undefined);
    }
  });

  it("is kept to one claim, not to the next of its name", () => {
    const volume = volumeOf(prime);
    const promised = applyPatch(volume, makePromise(volume, target.metadata));
    const next = populatedClaim({ uid: "next-uid" });
    assert.ok(isMeantFor(promised, target.metadata));
    assert.ok(!isMeantFor(promised, next.metadata));
    assert.ok(!isMeantFor(volume, target.metadata));
    assert.equal(promisedVolume(target.metadata, [volume, promised]), promised);
    assert.equal(promisedVolume(unborn(target).metadata, [promised]), undefined);
  });
});
