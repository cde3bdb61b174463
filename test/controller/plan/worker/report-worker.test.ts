/**
 * The rows of the contract's 5.7: what is seen of a worker pod, and what its claim says then.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Pod } from "../../../../controller/api/kube.ts";
import { ANNOTATIONS } from "../../../../controller/api/names.ts";
import { dataVolume, volumeOf } from "../../../support/observed-import.ts";
import { exitedWith, legacyTarget, planWith, populatorPair, workerIn, workerOf } from "../../../support/worker-plan.ts";

const RUNNING = { state: { running: {} } };
const CREATING = { state: { waiting: { reason: "ContainerCreating" } } };
const DONE = exitedWith({ scratchSpaceRequired: false, preallocationApplied: false, message: "Import Complete" });

/** What a pod that runs has said by then. */
const SEEN = {
  [ANNOTATIONS.importPodName]: "importer-fedora",
  [ANNOTATIONS.podSchedulable]: "true",
  [ANNOTATIONS.podRestarts]: "0",
  [ANNOTATIONS.importRequiresScratch]: "false",
};

const running = (value: string, message: string, reason: string): Record<string, string> => ({
  [ANNOTATIONS.running]: value,
  [ANNOTATIONS.runningMessage]: message,
  [ANNOTATIONS.runningReason]: reason,
});

const RUNS = { ...SEEN, ...running("true", "", "Pod is running"), [ANNOTATIONS.podPhase]: "Running" };

/** The observed moment is 12:00:00. */
const YOUNG = { metadata: { creationTimestamp: "2026-09-01T11:59:57Z" } };

const target = legacyTarget();
const started = legacyTarget({ annotations: RUNS });

describe("what a claim says of its worker", () => {
  it("is nothing while the pod starts as all do", () => {
    for (const young of [workerOf(target, YOUNG), workerIn(target, "Pending", CREATING, YOUNG)]) {
      const { actions } = planWith({ target, worker: young });
      assert.deepEqual(actions, [{ do: "again", afterMs: 7000 }]);
    }
  });

  it("is nothing before its claim has a volume, and for as long again after that", () => {
    const { target: wanted, prime } = populatorPair({ status: { phase: "Pending" } });
    assert.deepEqual(planWith({ target: wanted, prime, worker: workerOf(prime) }).actions, []);
    const { prime: bound } = populatorPair({ spec: { volumeName: "pvc-1" } });
    const parts = { target: wanted, prime: bound, worker: workerOf(bound) };
    for (const [since, afterMs] of [
      ["2026-09-01T11:59:58Z", 8000],
      ["2026-09-01T11:59:50Z", undefined],
      [undefined, undefined],
    ] as const) {
      const status = { phase: "Bound", ...(since === undefined ? {} : { lastPhaseTransitionTime: since }) } as const;
      const [action] = planWith({ ...parts, volume: volumeOf(bound, { status }) }).actions;
      if (afterMs === undefined) assert.equal(action?.do, "patch");
      else assert.deepEqual(action, { do: "again", afterMs });
    }
  });

  it("is nothing between the end of the worker and that of its pod, unless that takes long", () => {
    for (const [finishedAt, afterMs] of [
      ["2026-09-01T11:59:58Z", 3000],
      ["2026-09-01T11:59:50Z", undefined],
      ["2026-09-01T13:00:00Z", undefined],
      [undefined, undefined],
    ] as const) {
      const terminated = { exitCode: 0, reason: "Completed", ...(finishedAt === undefined ? {} : { finishedAt }) };
      const [action] = planWith({
        target: started,
        worker: workerIn(started, "Running", { state: { terminated } }),
      }).actions;
      if (afterMs === undefined) assert.equal(action?.do, "patch");
      else assert.deepEqual(action, { do: "again", afterMs });
    }
    const failed = { exitCode: 1, reason: "Error", finishedAt: "2026-09-01T11:59:58Z" };
    const { changed } = planWith({
      target: started,
      worker: workerIn(started, "Running", { state: { terminated: failed } }),
    });
    assert.equal(changed[ANNOTATIONS.runningReason], "Error");
  });

  it("is that it starts where that takes long", () => {
    const { changed } = planWith({ target, worker: workerIn(target, "Pending", CREATING) });
    assert.deepEqual(changed, {
      ...SEEN,
      ...running("false", "", "ContainerCreating"),
      [ANNOTATIONS.podPhase]: "Pending",
    });
  });

  it("is what the kubelet waits for", () => {
    const message = `MountVolume.SetUp failed for volume "cdi-cert-vol" : configmap "ca" not found`;
    const workerWarning = { reason: "FailedMount", message };
    const { changed } = planWith({ target, worker: workerIn(target, "Pending", CREATING, YOUNG), workerWarning });
    assert.deepEqual(changed, {
      ...SEEN,
      ...running("false", message, "ContainerCreating"),
      [ANNOTATIONS.podPhase]: "Pending",
    });
  });

  it("is that no node takes it", () => {
    const status = {
      phase: "Pending",
      conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/2 nodes" }],
    } as const;
    const { changed } = planWith({ target, worker: workerOf(target, { ...YOUNG, status }) });
    assert.deepEqual(changed, { ...SEEN, [ANNOTATIONS.podSchedulable]: "false", [ANNOTATIONS.podPhase]: "Pending" });
  });

  it("is nothing while its claim has no volume yet, which no node could mend", () => {
    const message = "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found";
    const conditions = [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message }];
    const worker = workerOf(target, { ...YOUNG, status: { phase: "Pending", conditions } });
    assert.deepEqual(planWith({ target, worker }).changed, {});
  });

  it("is not what the scheduler said before it found a node", () => {
    const worker = workerIn(target, "Pending", { state: { waiting: { reason: "ContainerCreating" } } }, YOUNG);
    const workerWarning = { reason: "FailedScheduling", message: "0/2 nodes are available" };
    assert.deepEqual(planWith({ target, worker, workerWarning }).changed, {});
  });

  it("is not that its claim is bound in this moment", () => {
    const worker = workerIn(target, "Pending", { state: { waiting: { reason: "ContainerCreating" } } }, YOUNG);
    const message = "failed to process volumes=[cdi-data-vol]: error processing PVC ns/fedora: PVC is not bound";
    const workerWarning = { reason: "FailedMount", message };
    assert.deepEqual(planWith({ target, worker, workerWarning }).changed, {});
  });

  it("is that an image cannot be pulled, at once and once", () => {
    const worker = workerIn(target, "Pending", { state: { waiting: { reason: "ErrImagePull" } } }, YOUNG);
    const { changed, annotations } = planWith({ target, worker });
    assert.equal(changed[ANNOTATIONS.runningReason], "ImagePullFailed");
    const again = workerIn(target, "Pending", { state: { waiting: { reason: "ImagePullBackOff" } } });
    assert.deepEqual(planWith({ target: legacyTarget({ annotations }), worker: again }).actions, []);
  });

  it("is that it runs, once", () => {
    const { outline, changed } = planWith({ target, worker: workerIn(target, "Running", RUNNING) });
    assert.deepEqual(outline, ["patch PersistentVolumeClaim fedora"]);
    assert.deepEqual(changed, RUNS);
    assert.deepEqual(planWith({ target: started, worker: workerIn(started, "Running", RUNNING) }).actions, []);
  });

  it("is a failure, with an event, and that it runs again", () => {
    const failed = planWith({ target: started, worker: workerIn(started, "Running", exitedWith("no route", 1)) });
    assert.deepEqual(failed.outline, ["patch PersistentVolumeClaim fedora", "event ErrImportFailed"]);
    assert.deepEqual(failed.changed, running("false", "no route", "Error"));
    const after = legacyTarget({ annotations: failed.annotations });
    const waits = workerIn(after, "Running", {
      restartCount: 1,
      state: { waiting: { reason: "CrashLoopBackOff", message: "back-off 10s" } },
      lastState: { terminated: { exitCode: 1, reason: "Error", message: "no route" } },
    });
    const waiting = planWith({ target: after, worker: waits });
    assert.deepEqual(waiting.outline, ["patch PersistentVolumeClaim fedora"]);
    assert.deepEqual(waiting.changed, { [ANNOTATIONS.podRestarts]: "1" });
    const again = planWith({ target: after, worker: workerIn(after, "Running", { ...RUNNING, restartCount: 1 }) });
    assert.deepEqual(again.changed, { ...running("true", "", "Pod is running"), [ANNOTATIONS.podRestarts]: "1" });
  });

  it("is a failure that was over when it was seen", () => {
    const waits = workerIn(started, "Running", {
      restartCount: 1,
      state: { waiting: { reason: "CrashLoopBackOff" } },
      lastState: { terminated: { exitCode: 1, reason: "Error", message: "no route" } },
    });
    const { changed, outline } = planWith({ target: started, worker: waits });
    assert.deepEqual(outline, ["patch PersistentVolumeClaim fedora", "event ErrImportFailed"]);
    assert.deepEqual(changed, { ...running("false", "no route", "Error"), [ANNOTATIONS.podRestarts]: "1" });
  });

  it("leaves events to the DataVolume where there is one", () => {
    const worker = workerIn(started, "Running", exitedWith("no route", 1));
    const { outline } = planWith({ dataVolume: dataVolume(), target: started, worker });
    assert.deepEqual(outline, ["patch PersistentVolumeClaim fedora"]);
  });

  for (const [before, seen, expected] of [
    ["5", 2, "5"],
    ["1", 2, "2"],
    ["many", 1, "1"],
    ["-3", 0, "0"],
  ] as const) {
    it(`counts ${seen} restarts after ${before}`, () => {
      const counted = legacyTarget({ annotations: { [ANNOTATIONS.podRestarts]: before } });
      const worker = workerIn(counted, "Running", { ...RUNNING, restartCount: seen });
      assert.equal(planWith({ target: counted, worker }).annotations[ANNOTATIONS.podRestarts], expected);
    });
  }

  it("is everything that the contract has of a good end", () => {
    const { outline, annotations } = planWith({ target: started, worker: workerIn(started, "Succeeded", DONE) });
    assert.deepEqual(outline, [
      "patch PersistentVolumeClaim fedora",
      "event ImportSucceeded",
      "delete Pod importer-fedora",
    ]);
    assert.deepEqual(annotations, {
      "cdi.kubevirt.io/storage.import.source": "http",
      "cdi.kubevirt.io/storage.import.endpoint": "http://images.example.org/fedora.qcow2",
      "cdi.kubevirt.io/storage.condition.running": "false",
      "cdi.kubevirt.io/storage.condition.running.message": "Import Complete",
      "cdi.kubevirt.io/storage.condition.running.reason": "Completed",
      "cdi.kubevirt.io/storage.import.importPodName": "importer-fedora",
      "cdi.kubevirt.io/storage.import.requiresScratch": "false",
      "cdi.kubevirt.io/storage.pod.phase": "Succeeded",
      "cdi.kubevirt.io/storage.pod.restarts": "0",
      "cdi.kubevirt.io/storage.pod.schedulable": "true",
    });
  });

  it("is the same where nothing was seen before the end", () => {
    const { annotations } = planWith({ target, worker: workerIn(target, "Succeeded", DONE, YOUNG) });
    const slow = planWith({ target: started, worker: workerIn(started, "Succeeded", DONE) });
    assert.deepEqual(annotations, slow.annotations);
  });

  it("of a prime tells nothing: its target has the news when it has the volume, and the pod goes with the prime", () => {
    const { target: wanted, prime } = populatorPair();
    const { outline } = planWith({ target: wanted, prime, worker: workerIn(prime, "Succeeded", DONE) });
    assert.deepEqual(outline, ["patch PersistentVolumeClaim prime-target-uid"]);
  });

  it("has what the worker did and found", () => {
    const labelled = legacyTarget({ labels: { "kubevirt.io/mine": "old" } });
    const worker = workerIn(
      labelled,
      "Succeeded",
      exitedWith({
        preallocationApplied: true,
        labels: { "kubevirt.io/mine": "new", "instancetype.kubevirt.io/default": "u1", other: "x" },
        message: "Import Complete",
      }),
    );
    const { annotations, after } = planWith({ target: labelled, worker });
    assert.equal(annotations[ANNOTATIONS.preallocation], "true");
    assert.deepEqual(after.target?.metadata.labels, {
      app: "containerized-data-importer",
      "kubevirt.io/mine": "old",
      "instancetype.kubevirt.io/default": "u1",
    });
  });

  it("knows preallocation from a text, too", () => {
    const worker = workerIn(target, "Succeeded", exitedWith("Preallocation applied"));
    assert.equal(planWith({ target, worker }).annotations[ANNOTATIONS.preallocation], "true");
  });

  it("keeps a pod that is to be looked at", () => {
    const kept = legacyTarget({ annotations: { [ANNOTATIONS.podRetain]: "true" } });
    const { outline, annotations } = planWith({ target: kept, worker: workerIn(kept, "Succeeded", DONE) });
    assert.deepEqual(outline, ["patch PersistentVolumeClaim fedora", "event ImportSucceeded"]);
    const later = legacyTarget({ annotations });
    assert.deepEqual(planWith({ target: later, worker: workerIn(later, "Succeeded", DONE) }).actions, []);
  });

  it("ends the only stage that there is", () => {
    const staged = legacyTarget({
      annotations: { [ANNOTATIONS.checkpointCurrent]: "one", [ANNOTATIONS.checkpointFinal]: "true" },
    });
    const { annotations } = planWith({ target: staged, worker: workerIn(staged, "Succeeded", DONE) });
    assert.equal(annotations[ANNOTATIONS.checkpointDone], "true");
    assert.equal(annotations[ANNOTATIONS.checkpointCurrent], undefined);
  });

  it("is that scratch space is needed", () => {
    const worker = workerIn(
      started,
      "Succeeded",
      exitedWith({ scratchSpaceRequired: true, message: "Import Complete" }),
    );
    const { outline, changed } = planWith({ target: started, worker });
    assert.deepEqual(outline, ["patch PersistentVolumeClaim fedora", "delete Pod importer-fedora"]);
    assert.deepEqual(changed, {
      ...running("false", "scratch space required and none found", "Scratch space required"),
      [ANNOTATIONS.importRequiresScratch]: "true",
    });
  });

  it("is that memory ran out", () => {
    const worker = workerIn(started, "Running", { state: { terminated: { exitCode: 137, reason: "OOMKilled" } } });
    const { outline, changed } = planWith({ target: started, worker });
    assert.deepEqual(outline, [
      "patch PersistentVolumeClaim fedora",
      "event ErrImportFailed",
      "delete Pod importer-fedora",
    ]);
    assert.equal(changed[ANNOTATIONS.importRequiresDirectIo], "true");
    assert.equal(changed[ANNOTATIONS.runningReason], "OOMKilled");
    assert.equal(changed[ANNOTATIONS.podPhase], undefined);
  });

  it("is a wrong checksum, for good", () => {
    const message = "Unable to process data: checksum mismatch: expected md5:1, calculated md5:2 [SOURCE_CHECKSUM]";
    const ended = exitedWith({ message, code: "SOURCE_CHECKSUM", terminal: true });
    const { outline, changed } = planWith({ target: started, worker: workerIn(started, "Succeeded", ended) });
    assert.deepEqual(outline, [
      "patch PersistentVolumeClaim fedora",
      "event ErrImportFailed",
      "delete Pod importer-fedora",
    ]);
    assert.deepEqual(changed, {
      ...running("false", message, "ChecksumError"),
      [ANNOTATIONS.podPhase]: "Failed",
      [ANNOTATIONS.importFatalError]: "true",
    });
  });

  it("is what no restart can mend, with the worker's sentence", () => {
    const message = "Unable to process data: the image is encrypted [FORMAT_UNSUPPORTED]";
    const ended = exitedWith({ message, code: "FORMAT_UNSUPPORTED", terminal: true });
    const { outline, changed } = planWith({ target: started, worker: workerIn(started, "Succeeded", ended) });
    assert.deepEqual(outline, [
      "patch PersistentVolumeClaim fedora",
      "event ErrImportFailed",
      "delete Pod importer-fedora",
    ]);
    assert.deepEqual(changed, {
      ...running("false", message, "Error"),
      [ANNOTATIONS.terminal]: "FORMAT_UNSUPPORTED",
    });
  });

  it("is an eviction, and the pod is replaced", () => {
    const status = { phase: "Failed", reason: "Evicted", message: "The node was low on memory." } as const;
    const { outline, changed } = planWith({ target: started, worker: workerOf(started, { status }) });
    assert.deepEqual(outline, [
      "patch PersistentVolumeClaim fedora",
      "event ErrImportFailed",
      "delete Pod importer-fedora",
    ]);
    assert.deepEqual(changed, {
      ...running("false", "The node was low on memory.", "Evicted"),
      [ANNOTATIONS.podPhase]: "Failed",
    });
  });

  it("does not replace a pod at once that its node refused at once", () => {
    const status = { phase: "Failed", reason: "OutOfcpu", message: "no" } as const;
    const worker = workerOf(started, { ...YOUNG, status });
    const { actions, outline, annotations } = planWith({ target: started, worker });
    assert.deepEqual(outline, ["patch PersistentVolumeClaim fedora", "event ErrImportFailed", "again"]);
    assert.deepEqual(actions.at(-1), { do: "again", afterMs: 7000 });
    const later = legacyTarget({ annotations });
    assert.deepEqual(planWith({ target: later, worker: workerOf(later, { status }) }).outline, [
      "delete Pod importer-fedora",
    ]);
  });

  describe("of a pod that is on its way out", () => {
    const LEAVING = { metadata: { deletionTimestamp: "2026-09-01T12:00:00Z" } };
    const silent: readonly (readonly [string, Pod])[] = [
      ["runs", workerIn(target, "Running", RUNNING, LEAVING)],
      ["failed", workerOf(target, { ...LEAVING, status: { phase: "Failed" } })],
      ["wants scratch space", workerIn(target, "Succeeded", exitedWith({ scratchSpaceRequired: true }), LEAVING)],
    ];
    for (const [name, worker] of silent) {
      it(`is nothing: ${name}`, () => assert.deepEqual(planWith({ target, worker }).actions, []));
    }

    it("is what it achieved", () => {
      const { outline, annotations } = planWith({ target, worker: workerIn(target, "Succeeded", DONE, LEAVING) });
      assert.deepEqual(outline, ["patch PersistentVolumeClaim fedora", "event ImportSucceeded"]);
      assert.equal(annotations[ANNOTATIONS.podPhase], "Succeeded");
    });
  });

  it("labels a claim that nobody labelled", () => {
    const { metadata, ...rest } = target;
    const bare = { ...rest, metadata: { ...metadata, labels: { tier: "vm" } } };
    const { after, outline } = planWith({ target: bare, worker: workerIn(bare, "Running", RUNNING) });
    assert.deepEqual(outline, ["patch PersistentVolumeClaim fedora"]);
    assert.deepEqual(after.target?.metadata.labels, { tier: "vm", app: "containerized-data-importer" });
  });
});
