import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Claim } from "../../../../controller/api/kube.ts";
import { ANNOTATIONS, GATE_HONOR_WAIT_FOR_FIRST_CONSUMER } from "../../../../controller/api/names.ts";
import type { ClusterFacts } from "../../../../controller/plan/observed.ts";
import {
  cdiConfig,
  CSI_CLASS,
  dataVolume,
  LOCAL_CLASS,
  NAMESPACE,
  pod,
  settings,
  unborn,
  WAITING_CSI_CLASS,
} from "../../../support/observed-import.ts";
import { legacyTarget, planWith, populatorPair } from "../../../support/worker-plan.ts";

const GATE = { config: cdiConfig({ featureGates: [GATE_HONOR_WAIT_FOR_FIRST_CONSUMER] }) };
const NO_GATE = { config: cdiConfig() };

type Phase = NonNullable<NonNullable<Claim["status"]>["phase"]>;

/** Contract 6.2, column "worker pod created?". */
const LEGACY_ROWS: readonly (readonly [string, "on" | "off", string | undefined, Phase, boolean])[] = [
  [CSI_CLASS, "on", undefined, "Pending", false],
  [CSI_CLASS, "on", "", "Pending", true],
  [CSI_CLASS, "off", undefined, "Pending", true],
  [CSI_CLASS, "off", "", "Pending", true],
  [LOCAL_CLASS, "on", undefined, "Pending", false],
  [LOCAL_CLASS, "on", "", "Pending", true],
  [LOCAL_CLASS, "on", "true", "Pending", true],
  [LOCAL_CLASS, "on", "false", "Pending", true],
  [LOCAL_CLASS, "off", undefined, "Pending", true],
  [LOCAL_CLASS, "off", "", "Pending", true],
  [CSI_CLASS, "on", undefined, "Bound", true],
  [LOCAL_CLASS, "on", undefined, "Bound", true],
  [LOCAL_CLASS, "on", "", "Bound", true],
  [LOCAL_CLASS, "off", undefined, "Bound", true],
  [LOCAL_CLASS, "off", "", "Lost", false],
];

const CREATED = ["create Pod importer-fedora"];

describe("when a worker is started", () => {
  for (const [storageClassName, gate, immediate, phase, isStarted] of LEGACY_ROWS) {
    it(`${storageClassName}, gate ${gate}, immediate ${immediate ?? "no"}, ${phase}: ${isStarted ? "yes" : "no"}`, () => {
      const annotations: Record<string, string> =
        immediate === undefined ? {} : { [ANNOTATIONS.immediateBind]: immediate };
      const target = legacyTarget({ spec: { storageClassName }, status: { phase }, annotations });
      const { outline } = planWith({ target, cluster: gate === "on" ? GATE : NO_GATE });
      assert.deepEqual(outline, isStarted ? CREATED : []);
    });
  }

  for (const storageClassName of [CSI_CLASS, WAITING_CSI_CLASS]) {
    it(`a prime of ${storageClassName} does not wait to be bound`, () => {
      const pair = populatorPair({ spec: { storageClassName }, status: { phase: "Pending" } });
      assert.deepEqual(planWith({ ...pair, cluster: GATE }).outline, ["create Pod importer-prime-target-uid"]);
    });
  }

  it("not for a claim that this pass makes", () => {
    const { target, prime } = populatorPair();
    assert.deepEqual(planWith({ target, prime: unborn(prime) }).actions, []);
  });

  for (const [name, annotations] of [
    ["another population", { [ANNOTATIONS.externalPopulation]: "true" }],
    ["restored data", { [ANNOTATIONS.populatedFor]: "fedora" }],
    ["volumes of its own", { [ANNOTATIONS.volumeList]: `["pv"]` }],
    ["a finished import", { [ANNOTATIONS.podPhase]: "Succeeded" }],
  ] as const) {
    it(`not for a claim with ${name}`, () => {
      assert.deepEqual(planWith({ target: legacyTarget({ annotations }) }).actions, []);
    });
  }

  it("not for a claim that a DataVolume adopted", () => {
    const owner = dataVolume();
    const adopted = legacyTarget({ owner });
    assert.deepEqual(planWith({ dataVolume: owner, target: adopted }).actions, []);
    const made = legacyTarget({ owner, annotations: { [ANNOTATIONS.createdForDataVolume]: "dv-uid" } });
    assert.deepEqual(planWith({ dataVolume: owner, target: made }).outline, CREATED);
  });

  it("not for a DataVolume that is being deleted", () => {
    const owner = dataVolume({ metadata: { deletionTimestamp: "2026-09-01T12:00:00Z" } });
    const target = legacyTarget({ owner, annotations: { [ANNOTATIONS.createdForDataVolume]: "dv-uid" } });
    assert.deepEqual(planWith({ dataVolume: owner, target }).actions, []);
  });

  it("not while another pod uses the claim, which is told once", () => {
    const users = [pod({ name: "consumer" }), pod({ name: "another" })];
    const { outline, annotations } = planWith({ target: legacyTarget(), users });
    assert.deepEqual(outline, ["again", "patch PersistentVolumeClaim fedora", "event ImportTargetInUse"]);
    assert.equal(annotations[ANNOTATIONS.running], "false");
    assert.equal(annotations[ANNOTATIONS.runningReason], "ImportTargetInUse");
    assert.equal(
      annotations[ANNOTATIONS.runningMessage],
      `pod ${NAMESPACE}/consumer using PersistentVolumeClaim fedora`,
    );
    const told = legacyTarget({ annotations });
    assert.deepEqual(planWith({ target: told, users }).outline, ["again"]);
    assert.deepEqual(planWith({ target: told }).outline, CREATED);
  });

  describe("where the number of imports is limited", () => {
    const limited = (maxImports: number, maxImportsPerNode: number): Partial<ClusterFacts> => ({
      settings: settings({ maxImports, maxImportsPerNode }),
      workers: { total: 10, byNode: new Map([["node-1", 3]]) },
    });
    const onNode = (node: string): Claim => legacyTarget({ annotations: { [ANNOTATIONS.selectedNode]: node } });

    for (const [name, target, cluster, message] of [
      ["all", legacyTarget(), limited(10, 0), "waiting for another import to end: at most 10 run at a time"],
      [
        "those of a node",
        onNode("node-1"),
        limited(0, 3),
        "waiting for another import on node node-1 to end: at most 3 run there at a time",
      ],
    ] as const) {
      it(`waits for its turn among ${name}, and says so without a write`, () => {
        const { actions, problem } = planWith({ target, cluster });
        assert.deepEqual(actions, [{ do: "again", afterMs: 5000 }]);
        assert.deepEqual(problem, { reason: "WaitingForTurn", message, condition: "Running" });
      });
    }

    for (const [name, target, cluster] of [
      ["there is room", legacyTarget(), limited(11, 0)],
      ["there is room on the node", onNode("node-1"), limited(0, 4)],
      ["no other runs on the node", onNode("node-2"), limited(0, 1)],
      ["the node is not known", legacyTarget(), limited(0, 1)],
      ["there is no limit", onNode("node-1"), limited(0, 0)],
    ] as const) {
      it(`starts where ${name}`, () => assert.deepEqual(planWith({ target, cluster }).outline, CREATED));
    }
  });

  it("not where its placement cannot be read, which is told once", () => {
    const owner = dataVolume({ annotations: { [ANNOTATIONS.placementTolerations]: "gpu" } });
    const target = legacyTarget({ owner, annotations: { [ANNOTATIONS.createdForDataVolume]: "dv-uid" } });
    const { outline, annotations } = planWith({ dataVolume: owner, target });
    assert.deepEqual(outline, ["patch PersistentVolumeClaim fedora"]);
    assert.equal(annotations[ANNOTATIONS.runningReason], "ErrPlacement");
    const told = legacyTarget({ owner, annotations });
    assert.deepEqual(planWith({ dataVolume: owner, target: told }).actions, []);
    assert.deepEqual(planWith({ dataVolume: dataVolume(), target: told }).outline, CREATED);
  });

  it("where the DataVolume, or a claim without one, says", () => {
    const selector = { [ANNOTATIONS.placementNodeSelector]: `{"disk":"ssd"}` };
    const owner = dataVolume({ annotations: selector });
    const annotations = { [ANNOTATIONS.createdForDataVolume]: "dv-uid" };
    const ofBoth = planWith({ dataVolume: owner, target: legacyTarget({ owner, annotations }) });
    assert.deepEqual(ofBoth.after.worker?.spec.nodeSelector, { disk: "ssd" });
    const byHand = planWith({ target: legacyTarget({ annotations: selector }) });
    assert.deepEqual(byHand.after.worker?.spec.nodeSelector, { disk: "ssd" });
  });

  it("not for one stage of several", () => {
    const target = legacyTarget({ annotations: { [ANNOTATIONS.checkpointCurrent]: "one" } });
    const { outline, annotations } = planWith({ target });
    assert.deepEqual(outline, ["patch PersistentVolumeClaim fedora", "event ErrStartingPod"]);
    assert.equal(annotations[ANNOTATIONS.runningMessage], "imports in several stages are not supported");
  });

  for (const [reason, message] of [
    ["ErrExceededQuota", `pods "importer-fedora" is forbidden: exceeded quota: pods, requested: pods=1`],
    ["ErrStartingPod", `pods "importer-fedora" is forbidden: no PriorityClass with name high was found`],
  ] as const) {
    it(`not while the API server refuses the pod, which is told once: ${reason}`, () => {
      const rejected = { do: "create", kind: "Pod", name: "importer-fedora", reason: "Forbidden", message } as const;
      const { outline, changed, annotations } = planWith({ target: legacyTarget(), rejected });
      assert.deepEqual(outline, ["patch PersistentVolumeClaim fedora", `event ${reason}`]);
      assert.deepEqual(changed, {
        [ANNOTATIONS.podPhase]: "Failed",
        [ANNOTATIONS.running]: "false",
        [ANNOTATIONS.runningReason]: reason,
        [ANNOTATIONS.runningMessage]: `Error starting pod 'importer-fedora': ${message}`,
      });
      const told = legacyTarget({ annotations });
      assert.deepEqual(planWith({ target: told, rejected }).actions, []);
      assert.deepEqual(planWith({ target: told }).outline, CREATED);
    });
  }

  it("also while the API server refuses something else", () => {
    const rejected = { do: "create", kind: "Pod", name: "importer-other", reason: "Forbidden", message: "no" } as const;
    assert.deepEqual(planWith({ target: legacyTarget(), rejected }).outline, CREATED);
  });

  describe("for a blank device", () => {
    const BLANK = { [ANNOTATIONS.importSource]: "none" };
    const device = (phase: Phase, storageClassName: string, more: Record<string, string> = {}): Claim =>
      legacyTarget({
        spec: { volumeMode: "Block", storageClassName },
        status: { phase },
        annotations: { ...BLANK, ...more },
      });
    const FINAL = {
      [ANNOTATIONS.importPodName]: "importer-fedora",
      [ANNOTATIONS.importRequiresScratch]: "false",
      [ANNOTATIONS.podPhase]: "Succeeded",
      [ANNOTATIONS.podRestarts]: "0",
      [ANNOTATIONS.podSchedulable]: "true",
      [ANNOTATIONS.running]: "false",
      [ANNOTATIONS.runningReason]: "Completed",
      [ANNOTATIONS.runningMessage]: "Import Complete",
    };

    it("never: it is done when it is bound", () => {
      assert.deepEqual(planWith({ target: device("Pending", CSI_CLASS), cluster: NO_GATE }).actions, []);
      const { outline, changed } = planWith({ target: device("Bound", CSI_CLASS) });
      assert.deepEqual(outline, ["patch PersistentVolumeClaim fedora", "event ImportSucceeded"]);
      assert.deepEqual(changed, FINAL);
    });

    it("also where a pod uses it already", () => {
      const { changed } = planWith({ target: device("Bound", LOCAL_CLASS), users: [pod({ name: "consumer" })] });
      assert.deepEqual(changed, FINAL);
    });

    it("only to be the consumer that somebody must be", () => {
      const immediate = { [ANNOTATIONS.immediateBind]: "" };
      assert.deepEqual(planWith({ target: device("Pending", LOCAL_CLASS, immediate), cluster: GATE }).outline, CREATED);
      assert.deepEqual(planWith({ target: device("Pending", LOCAL_CLASS), cluster: GATE }).outline, []);
      const placed = { ...immediate, [ANNOTATIONS.selectedNode]: "node-1" };
      assert.deepEqual(planWith({ target: device("Pending", LOCAL_CLASS, placed), cluster: GATE }).outline, []);
    });

    it("that is to be filled with zeros, or for a file", () => {
      const filled = device("Bound", CSI_CLASS, { [ANNOTATIONS.preallocationRequested]: "true" });
      assert.deepEqual(planWith({ target: filled }).outline, CREATED);
      assert.deepEqual(planWith({ target: legacyTarget({ annotations: BLANK }) }).outline, CREATED);
    });
  });
});
