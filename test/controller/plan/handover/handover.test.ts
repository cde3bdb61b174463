import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { Claim, ObjectReference, Volume } from "../../../../controller/api/kube.ts";
import { ANNOTATIONS } from "../../../../controller/api/names.ts";
import type { Action } from "../../../../controller/plan/action.ts";
import { applyPatch, ImportDraft } from "../../../../controller/plan/draft.ts";
import { planHandover } from "../../../../controller/plan/handover/handover.ts";
import {
  claim,
  dataVolume,
  NAMESPACE,
  observed,
  outline,
  populatedClaim,
  primeOf,
  unborn,
  volumeOf,
} from "../../../support/observed-import.ts";

const DONE = { [ANNOTATIONS.podPhase]: "Succeeded" };
const MIRRORED = { ...DONE, [ANNOTATIONS.prime]: "prime-target-uid", [ANNOTATIONS.populatorProgress]: "100.0%" };
const PROMISE = {
  [ANNOTATIONS.originalReclaimPolicy]: "Delete",
  [ANNOTATIONS.meantFor]: "images/fedora/target-uid",
};
const VOLUME = "patch PersistentVolume pvc-1";

/** Everything as it is when the worker has ended, and its end is known on both claims. */
const target = populatedClaim({ annotations: MIRRORED });
const prime = primeOf(target, { annotations: DONE, spec: { volumeName: "pvc-1" }, status: { phase: "Bound" } });
const volume = volumeOf(prime);
const promised = volumeOf(prime, { annotations: PROMISE, spec: { persistentVolumeReclaimPolicy: "Retain" } });
const swapped = withReference(promised, { namespace: NAMESPACE, name: "fedora", uid: "target-uid" });
const boundTarget: Claim = { ...target, spec: { ...target.spec, volumeName: "pvc-1" }, status: { phase: "Bound" } };
const lostPrime: Claim = { ...prime, status: { phase: "Lost" } };

type Parts = Parameters<typeof observed>[0];

function planned(parts: Parts): ImportDraft {
  const draft = new ImportDraft(observed({ target, prime, volume, ...parts }));
  planHandover(draft);
  return draft;
}

function actionsOf(parts: Parts): string[] {
  return outline(planned(parts).actions);
}

function onlyPatch(actions: readonly Action[]): Extract<Action, { do: "patch" }> {
  const [first, ...rest] = actions;
  assert.ok(first?.do === "patch" && rest.length === 0, JSON.stringify(actions));
  return first;
}

function withReference(from: Volume, claimRef: ObjectReference): Volume {
  return { ...from, spec: { ...from.spec, claimRef } };
}

describe("planHandover, step by step", () => {
  it("1. promises the volume to the target, and keeps it by Retain", () => {
    const patch = onlyPatch(planned({}).actions);
    assert.equal(patch.resourceVersion, "1");
    assert.deepEqual(applyPatch(volume, patch.patch), promised);
  });

  it("1. does so in the pass that sees the end of the worker, after telling the target", () => {
    const unaware = populatedClaim();
    assert.deepEqual(actionsOf({ target: unaware, dataVolume: dataVolume() }), [
      "patch PersistentVolumeClaim fedora",
      VOLUME,
    ]);
  });

  it("2. makes the volume the target's", () => {
    const patch = onlyPatch(planned({ volume: promised, promised: [promised] }).actions);
    assert.equal(patch.resourceVersion, "1");
    assert.deepEqual(patch.patch, {
      spec: {
        claimRef: { apiVersion: null, kind: null, name: "fedora", uid: "target-uid", resourceVersion: "1" },
      },
    });
    assert.deepEqual(applyPatch(promised, patch.patch).spec.claimRef, {
      namespace: NAMESPACE,
      name: "fedora",
      uid: "target-uid",
      resourceVersion: "1",
    });
  });

  it("2. waits for the binder", () => {
    assert.deepEqual(actionsOf({ volume: swapped, promised: [swapped] }), []);
    assert.deepEqual(actionsOf({ volume: swapped, promised: [swapped], prime: lostPrime }), []);
  });

  it("3. gives the volume its policy back when the target is bound", () => {
    const patch = onlyPatch(planned({ target: boundTarget, volume: swapped, promised: [swapped] }).actions);
    assert.equal(patch.resourceVersion, "1");
    const arrived = applyPatch(swapped, patch.patch);
    assert.equal(arrived.spec.persistentVolumeReclaimPolicy, "Delete");
    assert.deepEqual(arrived.metadata.annotations, {});
  });

  it("3. deletes the prime once Kubernetes calls it Lost, and after the policy", () => {
    assert.deepEqual(actionsOf({ target: boundTarget, prime: lostPrime, volume: swapped, promised: [swapped] }), [
      VOLUME,
      "delete PersistentVolumeClaim prime-target-uid",
    ]);
    assert.deepEqual(actionsOf({ target: boundTarget, prime: lostPrime }), [
      "delete PersistentVolumeClaim prime-target-uid",
    ]);
    assert.deepEqual(actionsOf({ target: boundTarget }), []);
    const leaving = { ...lostPrime, metadata: { ...lostPrime.metadata, deletionTimestamp: "2026-09-01T12:00:00Z" } };
    assert.deepEqual(actionsOf({ target: boundTarget, prime: leaving }), []);
  });

  it("3. keeps a prime that is to be retained, and says so once", () => {
    const annotations = { ...DONE, [ANNOTATIONS.podRetain]: "true" };
    const retained = { ...lostPrime, metadata: { ...lostPrime.metadata, annotations } };
    const parts = { target: boundTarget, prime: retained };
    assert.deepEqual(actionsOf({ ...parts, volume: swapped, promised: [swapped] }), [VOLUME, "event RetainedPVCPrime"]);
    assert.deepEqual(actionsOf(parts), []);
  });

  it("is over when the prime is gone", () => {
    assert.deepEqual(actionsOf({ target: boundTarget, prime: undefined }), []);
  });
});

describe("planHandover, while it is too early", () => {
  const running = primeOf(target, { annotations: { [ANNOTATIONS.podPhase]: "Running" }, status: { phase: "Bound" } });
  const unfinished = { ...DONE, [ANNOTATIONS.checkpointCurrent]: "one" };
  const later = { deletionTimestamp: "2026-09-01T12:00:00Z" };
  const rows: readonly [string, Parts][] = [
    ["there is no prime", { prime: undefined }],
    ["the prime was made in this pass", { prime: unborn(prime) }],
    ["the prime is somebody else's", { prime: claim({ name: "prime-target-uid", annotations: DONE }) }],
    ["the volume is not known", { volume: undefined }],
    ["the target is being deleted", { target: { ...target, metadata: { ...target.metadata, ...later } } }],
    ["the target is lost", { target: { ...target, status: { phase: "Lost" } } }],
    ["others fill the target", { target: claim({ annotations: MIRRORED }) }],
  ];
  for (const [name, parts] of rows) {
    it(`does nothing where ${name}`, () => assert.deepEqual(actionsOf(parts), []));
  }

  it("leaves the volume alone until the worker has ended well", () => {
    for (const annotations of [
      {},
      { [ANNOTATIONS.podPhase]: "Failed" },
      unfinished,
      running.metadata.annotations ?? {},
    ]) {
      const early = { ...prime, metadata: { ...prime.metadata, annotations } };
      assert.ok(!actionsOf({ prime: early }).includes(VOLUME), JSON.stringify(annotations));
    }
    const finished = { ...unfinished, [ANNOTATIONS.checkpointDone]: "true" };
    assert.ok(
      actionsOf({ prime: { ...prime, metadata: { ...prime.metadata, annotations: finished } } }).includes(VOLUME),
    );
  });
});

describe("planHandover, disturbed", () => {
  const released: Volume = { ...promised, status: { phase: "Released" } };

  it("finishes the swap where the prime was deleted after the promise", () => {
    const parts = { prime: undefined, volume: undefined, promised: [released] };
    const patch = onlyPatch(planned(parts).actions);
    assert.deepEqual(applyPatch(released, patch.patch).spec.claimRef?.uid, "target-uid");
  });

  it("goes on where the prime was deleted after the swap", () => {
    assert.deepEqual(actionsOf({ prime: undefined, volume: undefined, promised: [swapped] }), []);
    assert.deepEqual(actionsOf({ prime: undefined, volume: swapped, promised: [swapped], target: boundTarget }), [
      VOLUME,
    ]);
  });

  it("gives the volume its policy back where the target is gone, or is another of its name", () => {
    for (const stray of [released, swapped]) {
      for (const parts of [{ target: undefined }, { target: populatedClaim({ uid: "next-uid" }) }]) {
        const patch = onlyPatch(planned({ ...parts, prime: undefined, volume: undefined, promised: [stray] }).actions);
        assert.equal(patch.resourceVersion, "1");
        assert.equal(applyPatch(stray, patch.patch).spec.persistentVolumeReclaimPolicy, "Delete");
      }
    }
  });

  it("waits while the target is being deleted", () => {
    const leaving = { ...target, metadata: { ...target.metadata, deletionTimestamp: "2026-09-01T12:00:00Z" } };
    assert.deepEqual(actionsOf({ target: leaving, prime: undefined, promised: [released] }), []);
  });

  it("ends the promise, and keeps the prime, where the target was bound to another volume", () => {
    const elsewhere: Claim = { ...boundTarget, spec: { ...boundTarget.spec, volumeName: "pvc-other" } };
    const parts = { target: elsewhere, volume: promised, promised: [promised] };
    const draft = planned({ ...parts, dataVolume: dataVolume() });
    assert.deepEqual(outline(draft.actions), [VOLUME]);
    assert.equal(draft.foundProblem?.reason, "ErrClaimNotFilled");
    // And does not call the target filled.
    const unaware = populatedClaim({ spec: { volumeName: "pvc-other" }, status: { phase: "Bound" } });
    const warned = planned({ target: unaware });
    assert.equal(warned.now.target?.metadata.annotations?.[ANNOTATIONS.podPhase], undefined);
    assert.deepEqual(outline(warned.actions), ["patch PersistentVolumeClaim fedora", "event ErrClaimNotFilled"]);
  });

  const strangers: readonly [string, ObjectReference][] = [
    ["another claim", { namespace: NAMESPACE, name: "other", uid: "other-uid" }],
    ["a prime of another namespace", { namespace: "other", name: "prime-target-uid", uid: "prime-uid" }],
    ["a target of another UID", { namespace: NAMESPACE, name: "fedora", uid: "other-uid" }],
    ["nobody", {}],
  ];
  for (const [name, reference] of strangers) {
    it(`takes no volume from ${name}`, () => {
      for (const foreign of [withReference(volume, reference), withReference(promised, reference)]) {
        const isPromised = foreign.metadata.annotations !== undefined;
        const draft = planned({ volume: foreign, promised: isPromised ? [foreign] : [], dataVolume: dataVolume() });
        assert.deepEqual(draft.actions, []);
        assert.equal(draft.foundProblem?.reason, "ErrClaimNotFilled");
      }
    });
  }

  it("takes no volume of an earlier prime", () => {
    const earlier = withReference(volume, { namespace: NAMESPACE, name: "prime-target-uid", uid: "earlier-uid" });
    assert.deepEqual(planned({ volume: earlier, dataVolume: dataVolume() }).actions, []);
  });

  it("says how to start again where the prime has lost its volume", () => {
    const draft = planned({ prime: lostPrime, volume: undefined, dataVolume: dataVolume() });
    assert.deepEqual(draft.actions, []);
    assert.match(draft.foundProblem?.message ?? "", /delete this claim/);
  });

  it("does not ask again at once what the API server refused", () => {
    const rejected = {
      do: "patch",
      kind: "PersistentVolume",
      name: "pvc-1",
      reason: "Forbidden",
      message: "no",
    } as const;
    const draft = planned({ rejected, dataVolume: dataVolume() });
    assert.deepEqual(draft.actions, []);
    assert.equal(draft.foundProblem?.message, "Volume pvc-1 cannot be changed: no");
  });
});
