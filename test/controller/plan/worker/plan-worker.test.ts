import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Claim } from "../../../../controller/api/kube.ts";
import { ANNOTATIONS } from "../../../../controller/api/names.ts";
import { claim, dataVolume, populatedClaim } from "../../../support/observed-import.ts";
import { exitedWith, legacyTarget, planWith, populatorPair, workerIn, workerOf } from "../../../support/worker-plan.ts";

const RUNNING = { state: { running: {} } };
const LEAVING = { metadata: { deletionTimestamp: "2026-09-01T12:00:00Z" } };
const REMOVED = ["delete Pod importer-fedora"];
const CREATED = ["create Pod importer-fedora"];

describe("the worker of an import", () => {
  it("is none where nothing is to be imported", () => {
    assert.deepEqual(planWith({}).actions, []);
    assert.deepEqual(planWith({ target: claim() }).actions, []);
  });

  it("goes when its claim does", () => {
    const target = legacyTarget(LEAVING);
    assert.deepEqual(planWith({ target, worker: workerIn(target, "Running", RUNNING) }).outline, REMOVED);
    assert.deepEqual(planWith({ target, worker: workerIn(target, "Running", RUNNING, LEAVING) }).actions, []);
    assert.deepEqual(planWith({ target }).actions, []);
  });

  it("goes when its claim is not to be filled any more", () => {
    const target = claim();
    assert.deepEqual(planWith({ target, worker: workerIn(target, "Running", RUNNING) }).outline, REMOVED);
  });

  it("is not whoever has a worker's name, whatever becomes of the claim", () => {
    const stranger = workerOf(claim({ name: "other" }), { name: "importer-fedora" });
    for (const target of [undefined, claim(), claim(LEAVING), legacyTarget(LEAVING), populatedClaim()]) {
      assert.deepEqual(planWith({ target, worker: stranger }).actions, []);
    }
  });

  it("goes when the target of its prime does", () => {
    const { target, prime } = populatorPair();
    const worker = workerIn(prime, "Running", RUNNING);
    const leaving = { ...target, metadata: { ...target.metadata, ...LEAVING.metadata } };
    const REMOVED_PRIME = ["delete Pod importer-prime-target-uid"];
    assert.deepEqual(planWith({ target: leaving, prime, worker }).outline, REMOVED_PRIME);
    const gone = { ...prime, metadata: { ...prime.metadata, ...LEAVING.metadata } };
    assert.deepEqual(planWith({ target, prime: gone, worker }).outline, REMOVED_PRIME);
  });

  it("goes with a prime that another target had, which cannot go before it", () => {
    const { target, prime } = populatorPair();
    const orphan = workerIn({ ...prime, metadata: { ...prime.metadata, name: "prime-earlier" } }, "Running", RUNNING);
    const REMOVED_ORPHAN = "delete Pod importer-prime-earlier";
    assert.deepEqual(planWith({ orphans: [orphan] }).outline, [REMOVED_ORPHAN]);
    assert.deepEqual(planWith({ target, prime, orphans: [orphan] }).outline, [
      REMOVED_ORPHAN,
      "create Pod importer-prime-target-uid",
    ]);
    const leaving = { ...orphan, metadata: { ...orphan.metadata, ...LEAVING.metadata } };
    assert.deepEqual(planWith({ orphans: [leaving] }).actions, []);
  });

  it("waits until the pod of an earlier claim of the name is gone", () => {
    const earlier = workerIn(legacyTarget({ uid: "earlier" }), "Succeeded", exitedWith({ message: "Import Complete" }));
    assert.deepEqual(planWith({ target: legacyTarget(), worker: earlier }).outline, ["again"]);
  });

  it("does not take somebody else's pod for its own, and says so once", () => {
    const foreign = workerOf(claim({ name: "other" }), { name: "importer-fedora" });
    const { outline, annotations } = planWith({ target: legacyTarget(), worker: foreign });
    assert.deepEqual(outline, ["again", "patch PersistentVolumeClaim fedora", "event ErrStartingPod"]);
    assert.equal(annotations[ANNOTATIONS.runningMessage], "pod importer-fedora exists and is not of this import");
    assert.deepEqual(planWith({ target: legacyTarget({ annotations }), worker: foreign }).outline, ["again"]);
  });

  it("comes again where its pod vanished", () => {
    const target = legacyTarget({
      annotations: { [ANNOTATIONS.podPhase]: "Running", [ANNOTATIONS.importPodName]: "importer-fedora" },
    });
    assert.deepEqual(planWith({ target }).outline, CREATED);
  });

  it("is removed after its end where that was not done", () => {
    const target = legacyTarget({ annotations: { [ANNOTATIONS.podPhase]: "Succeeded" } });
    assert.deepEqual(planWith({ target, worker: workerOf(target) }).outline, REMOVED);
    assert.deepEqual(planWith({ target }).actions, []);
  });

  describe("of a filled prime", () => {
    const { target, prime } = populatorPair({ annotations: { [ANNOTATIONS.podPhase]: "Succeeded" } });
    const ended = workerIn(prime, "Succeeded", exitedWith({ message: "Import Complete" }));
    const REMOVED_PRIME = ["delete Pod importer-prime-target-uid"];

    it("stays until the target is bound", () => {
      assert.deepEqual(planWith({ target, prime, worker: ended }).actions, []);
      const bound = { ...target, status: { phase: "Bound" as const } };
      assert.deepEqual(planWith({ target: bound, prime, worker: ended }).outline, REMOVED_PRIME);
    });

    it("does not, where the prime goes, or more stages are to come", () => {
      const leaving = { ...prime, metadata: { ...prime.metadata, ...LEAVING.metadata } };
      assert.deepEqual(planWith({ target, prime: leaving, worker: ended }).outline, REMOVED_PRIME);
      const stages = { ...prime.metadata.annotations, [ANNOTATIONS.checkpointCurrent]: "one" };
      const staged = { ...prime, metadata: { ...prime.metadata, annotations: stages } };
      assert.deepEqual(planWith({ target, prime: staged, worker: ended }).outline, REMOVED_PRIME);
    });
  });

  describe("with scratch space", () => {
    const target = legacyTarget({ annotations: { [ANNOTATIONS.importRequiresScratch]: "true" } });
    const worker = planWith({ target }).after.worker;
    assert.ok(worker);
    const made = {
      ...worker,
      metadata: { ...worker.metadata, uid: "pod-uid", creationTimestamp: "2026-09-01T11:00:00Z" },
    };
    const scratchOf = (more: Parameters<typeof claim>[0]): Claim => claim({ name: "fedora-scratch", ...more });

    it("mounts it, and gets it when it is there itself", () => {
      assert.equal(worker.spec.volumes?.[1]?.persistentVolumeClaim?.claimName, "fedora-scratch");
      const { outline, after } = planWith({
        target,
        worker: { ...made, metadata: { ...made.metadata, creationTimestamp: "2026-09-01T12:00:00Z" } },
      });
      assert.deepEqual(outline, ["create PersistentVolumeClaim fedora-scratch", "again"]);
      assert.equal(after.scratch?.metadata.ownerReferences?.[0]?.uid, "pod-uid");
    });

    it("gets it once", () => {
      const { outline } = planWith({
        target,
        worker: { ...made, status: { phase: "Pending" } },
        scratch: scratchOf({ owner: made }),
      });
      assert.deepEqual(outline, ["patch PersistentVolumeClaim fedora"]);
    });

    it("is started again where that of another pod is in the way", () => {
      for (const scratch of [
        scratchOf({ owner: { ...made, metadata: { ...made.metadata, uid: "earlier" } } }),
        scratchOf({ owner: made, ...LEAVING }),
        scratchOf({}),
      ]) {
        assert.deepEqual(planWith({ target, worker: made, scratch }).outline, REMOVED);
      }
    });

    it("is not started while that of an earlier pod is there", () => {
      const scratch = scratchOf({ owner: { ...made, metadata: { ...made.metadata, uid: "earlier" } } });
      assert.deepEqual(planWith({ target, scratch }).outline, ["again"]);
    });

    it("is never given what somebody else made", () => {
      const { outline, annotations } = planWith({ target, scratch: scratchOf({}) });
      assert.deepEqual(outline, ["again", "patch PersistentVolumeClaim fedora", "event ErrStartingPod"]);
      assert.equal(
        annotations[ANNOTATIONS.runningMessage],
        "PersistentVolumeClaim fedora-scratch exists and is not of this import",
      );
    });

    it("needs none any more at the end", () => {
      const ended = {
        ...made,
        status: workerIn(target, "Succeeded", exitedWith({ message: "Import Complete" })).status,
      };
      assert.ok(ended.status);
      const { annotations } = planWith({
        target,
        worker: { ...made, status: ended.status },
        scratch: scratchOf({ owner: made }),
      });
      assert.equal(annotations[ANNOTATIONS.importRequiresScratch], "false");
    });
  });

  it("writes past the page cache after it ran out of memory", () => {
    const target = legacyTarget({ annotations: { [ANNOTATIONS.importRequiresDirectIo]: "true" } });
    const { after } = planWith({ target });
    const cacheMode = after.worker?.spec.containers[0]?.env?.find(({ name }) => name === "CACHE_MODE");
    assert.equal(cacheMode?.value, "TRYNONE");
    const ended = workerIn(target, "Succeeded", exitedWith({ message: "Import Complete" }));
    assert.equal(planWith({ target, worker: ended }).annotations[ANNOTATIONS.importRequiresDirectIo], "false");
  });

  describe("that ended for good", () => {
    const ENDINGS = [
      { [ANNOTATIONS.terminal]: "TARGET_TOO_SMALL", [ANNOTATIONS.podPhase]: "Running" },
      { [ANNOTATIONS.importFatalError]: "true", [ANNOTATIONS.podPhase]: "Failed" },
    ];
    const STATE = {
      [ANNOTATIONS.running]: "false",
      [ANNOTATIONS.runningReason]: "Error",
      [ANNOTATIONS.runningMessage]: "too small",
      [ANNOTATIONS.importPodName]: "importer-fedora",
      [ANNOTATIONS.podRestarts]: "2",
    };
    for (const ending of ENDINGS) {
      const [name = ""] = Object.keys(ending);
      const ended = (annotations: Record<string, string> = {}): Claim =>
        legacyTarget({ annotations: { ...STATE, ...ending, ...annotations } });

      it(`is not started again: ${name}`, () => {
        assert.deepEqual(planWith({ target: ended() }).actions, []);
        assert.deepEqual(planWith({ target: ended(), worker: workerOf(ended()) }).outline, REMOVED);
        const kept = ended({ [ANNOTATIONS.podRetain]: "true" });
        assert.deepEqual(planWith({ target: kept, worker: workerOf(kept) }).actions, []);
      });

      it(`is started again for a new value of retry: ${name}`, () => {
        const owner = dataVolume({ annotations: { [ANNOTATIONS.retry]: "2" } });
        const tried = ended({ [ANNOTATIONS.retried]: "1", [ANNOTATIONS.retry]: "1" });
        const { outline, changed, annotations } = planWith({ dataVolume: owner, target: tried });
        assert.deepEqual(outline, ["patch PersistentVolumeClaim fedora", ...CREATED]);
        const removed = [...Object.keys(ending), ...Object.keys(STATE)].filter(
          (key) => key !== ANNOTATIONS.podRestarts,
        );
        assert.deepEqual(changed, {
          ...Object.fromEntries(removed.map((key) => [key, undefined])),
          [ANNOTATIONS.retried]: "2",
        });
        assert.equal(annotations[ANNOTATIONS.podRestarts], "2");
        assert.deepEqual(planWith({ target: tried }).actions, []);
      });

      it(`is started again when the pod that was kept is gone: ${name}`, () => {
        const kept = ended({ [ANNOTATIONS.podRetain]: "true", [ANNOTATIONS.retry]: "now" });
        const { outline, changed } = planWith({ target: kept, worker: workerOf(kept) });
        assert.deepEqual(outline, REMOVED);
        assert.deepEqual(changed, {});
      });
    }

    it("remembers which retry the first try answered", () => {
      const target = legacyTarget({ annotations: { [ANNOTATIONS.retry]: "1" } });
      const { outline, changed } = planWith({ target });
      assert.deepEqual(outline, ["patch PersistentVolumeClaim fedora", ...CREATED]);
      assert.deepEqual(changed, { [ANNOTATIONS.retried]: "1" });
    });
  });

  it("makes one patch of a whole import that ends at once", () => {
    const { target, prime } = populatorPair();
    const ended = workerIn(prime, "Succeeded", exitedWith({ message: "Import Complete" }));
    const { actions } = planWith({ target, prime, worker: ended });
    assert.equal(actions.filter((action) => action.do === "patch").length, 1);
  });
});
