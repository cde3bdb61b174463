/**
 * The status step as a whole: the sequences that users see (contract 2.2), the objects that are left at the end (13), and what
 * holds whatever the cluster says.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { DataVolumeStatus } from "../../../../controller/api/cdi.ts";
import type { Claim, StringMap } from "../../../../controller/api/kube.ts";
import { ANNOTATIONS, GATE_HONOR_WAIT_FOR_FIRST_CONSUMER } from "../../../../controller/api/names.ts";
import { PHASES } from "../../../../controller/plan/status/phase.ts";
import {
  cdiConfig,
  CSI_CLASS,
  dataVolume,
  LOCAL_CLASS,
  pod,
  primeOf,
  WAITING_CSI_CLASS,
} from "../../../support/observed-import.ts";
import { ownClaim, ownPopulatedClaim, planStatusOf, statusPass } from "../../../support/status-pass.ts";
import type { Seen } from "../../../support/status-pass.ts";

const { podPhase, running, runningReason, runningMessage, selectedNode, populatorProgress } = ANNOTATIONS;
const BOUND = { phase: "Bound" } as const;
const VOLUME = { volumeName: "pv-1" };
const HONORED = { config: cdiConfig({ featureGates: [GATE_HONOR_WAIT_FOR_FIRST_CONSUMER] }) };

const WAITS: StringMap = { [podPhase]: "Pending", [running]: "false", [runningReason]: "ContainerCreating" };
const RUNS: StringMap = { [podPhase]: "Running", [running]: "true", [runningReason]: "Pod is running" };
const ENDED: StringMap = {
  [podPhase]: "Succeeded",
  [running]: "false",
  [runningReason]: "Completed",
  [runningMessage]: "Import Complete",
};

const unborn = { ...pod(), metadata: { name: "importer-fedora", namespace: "images" } };

/** What a target on the legacy path goes through; the class says whether it waits for a consumer. */
function legacy(storageClassName: string): Seen[] {
  const claim = (annotations: StringMap, status?: Claim["status"]): Claim =>
    ownClaim({ annotations, spec: { storageClassName, ...VOLUME }, ...(status && { status }) });
  return [
    { target: claim({}, {}) },
    { target: claim({}) },
    { target: claim({}, BOUND) },
    { target: claim({}, BOUND), worker: unborn },
    { target: claim(WAITS, BOUND), worker: pod() },
    { target: claim(RUNS, BOUND), worker: pod(), progress: "45.31%" },
    { target: claim(ENDED, BOUND) },
  ];
}

/** The same on the populator path, with a consumer where the class waits for one. */
function populator(storageClassName: string): Seen[] {
  const node: StringMap = storageClassName === WAITING_CSI_CLASS ? { [selectedNode]: "node2" } : {};
  const targetOf = (annotations: StringMap, status?: Claim["status"]): Claim =>
    ownPopulatedClaim({ annotations, spec: { storageClassName, ...(status && VOLUME) }, ...(status && { status }) });
  const both = (annotations: StringMap, parts: Parameters<typeof primeOf>[1]): Seen => {
    const target = targetOf({ ...node, ...annotations });
    return { target, prime: primeOf(target, { annotations, spec: VOLUME, ...parts }) };
  };
  const arrived = targetOf({ ...node, ...ENDED, [populatorProgress]: "100.0%" }, BOUND);
  return [
    { target: ownPopulatedClaim({ status: {}, spec: { storageClassName } }) },
    { target: targetOf({}) },
    both({}, {}),
    both({}, { status: BOUND }),
    { ...both({}, { status: BOUND }), worker: unborn },
    { ...both({}, { status: BOUND }), worker: pod() },
    { ...both({ ...WAITS }, { status: BOUND }), worker: pod() },
    { ...both({ ...RUNS, [populatorProgress]: "45.31%" }, { status: BOUND }), worker: pod() },
    both({ ...ENDED, [populatorProgress]: "100.0%" }, { status: BOUND }),
    { target: arrived, prime: primeOf(arrived, { status: { phase: "Lost" } }) },
    { target: arrived },
  ];
}

interface Story {
  readonly phases: readonly string[];
  readonly events: readonly string[];
  readonly patches: number;
  readonly last: DataVolumeStatus;
}

/** One pass over each, from the status that the one before left. */
function tell(steps: readonly Seen[], cluster: Seen["cluster"] = {}): Story {
  let last: DataVolumeStatus = {};
  let patches = 0;
  const phases: string[] = [];
  const events: string[] = [];
  for (const seen of steps) {
    const pass = statusPass({ ...seen, cluster }, { before: last });
    patches += pass.actions.filter((action) => action.do === "patch").length;
    events.push(...pass.events.map((event) => event.split(":")[0] ?? ""));
    last = pass.status;
    if (last.phase !== phases.at(-1)) phases.push(last.phase ?? "");
    assert.deepEqual(statusPass({ ...seen, cluster }, { before: last }).actions, [], "nothing to do a second time");
  }
  return { phases, events, patches, last };
}

const IMPORTED = ["Normal ImportScheduled", "Normal ImportInProgress", "Normal ImportSucceeded"];

describe("sequences", () => {
  const ROWS: readonly [name: string, steps: Seen[], cluster: Seen["cluster"], phases: string[], events: string[]][] = [
    [
      "populator, binds at once",
      populator(CSI_CLASS),
      {},
      ["Pending", "ImportScheduled", "ImportInProgress", "Succeeded"],
      IMPORTED,
    ],
    [
      "populator, waits for a consumer",
      populator(WAITING_CSI_CLASS),
      HONORED,
      ["PendingPopulation", "ImportScheduled", "ImportInProgress", "Succeeded"],
      IMPORTED,
    ],
    [
      "legacy, binds at once",
      legacy(CSI_CLASS),
      HONORED,
      ["Pending", "PVCBound", "ImportScheduled", "ImportInProgress", "Succeeded"],
      ["Normal Bound", ...IMPORTED],
    ],
    [
      "legacy, waits for a consumer",
      legacy(LOCAL_CLASS),
      HONORED,
      ["WaitForFirstConsumer", "PVCBound", "ImportScheduled", "ImportInProgress", "Succeeded"],
      ["Normal Bound", ...IMPORTED],
    ],
    [
      "legacy, waits for a consumer, and nobody honours it",
      legacy(LOCAL_CLASS),
      { config: cdiConfig() },
      ["Pending", "PVCBound", "ImportScheduled", "ImportInProgress", "Succeeded"],
      ["Normal Bound", ...IMPORTED],
    ],
    ["no claim, then one", [{}, { target: ownClaim({ status: {} }) }], {}, ["Pending"], []],
    [
      "the claim is deleted when all is done, and made again",
      [{ target: ownClaim({ annotations: ENDED, status: BOUND }) }, {}, { target: ownClaim() }],
      {},
      ["Succeeded", "Pending"],
      ["Normal ImportSucceeded"],
    ],
  ];
  for (const [name, steps, cluster, phases, events] of ROWS) {
    it(name, () => {
      const story = tell(steps, cluster);
      assert.deepEqual(story.phases, phases);
      assert.deepEqual(story.events, events);
    });
  }

  it("take few patches, and fewer where the worker is quick", () => {
    assert.equal(tell(populator(CSI_CLASS)).patches, 6);
    assert.equal(tell(legacy(CSI_CLASS)).patches, 6);
    const quick = tell(populator(CSI_CLASS).filter((_, at) => [0, 1, 2, 3, 4, 8, 9, 10].includes(at)));
    assert.deepEqual([quick.patches, quick.events], [3, ["Normal ImportSucceeded"]]);
  });
});

describe("planStatus", () => {
  const TIMES = { lastTransitionTime: "2026-09-01T12:00:00Z", lastHeartbeatTime: "2026-09-01T12:00:00Z" };

  it("names the claim and says that it waits in the first pass", () => {
    assert.deepEqual(statusPass({ target: ownClaim({ status: {} }) }).status, {
      claimName: "fedora",
      phase: "Pending",
      progress: "N/A",
      conditions: [
        { type: "Bound", status: "False", reason: "Pending", message: "PVC fedora Pending", ...TIMES },
        { type: "Ready", status: "False", ...TIMES },
        { type: "Running", status: "False", ...TIMES },
      ],
    });
  });

  it("leaves what KubeVirt CDI leaves at the end", () => {
    const annotations = { ...ENDED, [ANNOTATIONS.podRestarts]: "0" };
    assert.deepEqual(statusPass({ target: ownClaim({ annotations, status: BOUND }) }).status, {
      claimName: "fedora",
      phase: "Succeeded",
      progress: "100.0%",
      conditions: [
        { type: "Bound", status: "True", reason: "Bound", message: "PVC fedora Bound", ...TIMES },
        { type: "Ready", status: "True", ...TIMES },
        { type: "Running", status: "False", reason: "Completed", message: "Import Complete", ...TIMES },
      ],
    });
  });

  it("is one patch of the status, and of nothing else", () => {
    const [patch, ...rest] = statusPass({ target: ownClaim() }).actions;
    assert.ok(patch?.do === "patch");
    assert.equal(patch.subresource, "status");
    assert.deepEqual(Object.keys(patch.patch), ["status"]);
    assert.deepEqual(rest, []);
  });

  it("patches what is different, and the conditions only if one of them is", () => {
    const before = statusPass({ target: ownClaim({ annotations: RUNS, status: BOUND }), progress: "1.00%" }).status;
    const target = ownClaim({ annotations: { ...RUNS, [ANNOTATIONS.podRestarts]: "2" }, status: BOUND });
    const [patch] = statusPass({ target, progress: "45.31%", now: new Date(0) }, { before }).actions;
    assert.deepEqual(patch?.do === "patch" && patch.patch, { status: { progress: "45.31%", restartCount: 2 } });
  });

  it("takes back what is no longer so", () => {
    const invalid = { reason: "ErrClaimNotValid", message: "no class", phase: "" };
    const before = { phase: "Pending", restartCount: 3, progress: "N/A" };
    const { status } = statusPass({}, { problem: invalid, before });
    assert.equal("phase" in status, false);
    const again = statusPass({ target: ownClaim() }, { before: status }).status;
    assert.deepEqual([again.phase, again.restartCount], ["Pending", undefined]);
  });

  it("looks again when a claim will have waited for long", () => {
    const pending = { claim: "fedora", reason: "ExternalProvisioning", message: "waiting for a volume" };
    const target = ownClaim({ metadata: { creationTimestamp: "2026-09-01T11:59:55Z" } });
    const { actions, status } = statusPass({ target, pending });
    assert.deepEqual(actions.at(-1), { do: "again", afterMs: 25_000 });
    const later = new Date("2026-09-01T12:00:25Z");
    const told = statusPass({ target, pending, now: later }, { before: status });
    assert.deepEqual(told.events, ["Normal ExternalProvisioning: waiting for a volume"]);
  });

  it("leaves claims without a DataVolume, and DataVolumes that are being deleted", () => {
    assert.deepEqual(planStatusOf({ target: ownClaim() }).actions, []);
    const leaving = dataVolume({ metadata: { deletionTimestamp: "2026-09-01T12:00:00Z" } });
    assert.deepEqual(planStatusOf({ target: ownClaim(), dataVolume: leaving }).actions, []);
  });
});

describe("whatever the cluster says", () => {
  const TEXTS = [
    "",
    "true",
    "false",
    "N/A",
    "99.99%",
    "Pending",
    "Running",
    "Succeeded",
    "Failed",
    "Unknown",
    "__proto__",
  ];
  const text = fc.oneof(fc.constantFrom(...TEXTS), fc.string({ unit: "grapheme" }));
  const annotations = fc.dictionary(fc.constantFrom(...Object.values(ANNOTATIONS)), text, { maxKeys: 12 });
  const status = fc.record({ phase: fc.constantFrom("Pending", "Bound", "Lost", "Odd") }, { requiredKeys: [] }).map(
    // The API server's word, not ours.
    (found) => found as NonNullable<Claim["status"]>,
  );
  const storageClassName = fc.constantFrom(CSI_CLASS, WAITING_CSI_CLASS, LOCAL_CLASS, "gone");
  const volumeName = fc.constantFrom("pv-1", "pv-2");
  const parts = fc.record({
    annotations,
    status,
    spec: fc.record({ storageClassName, volumeName }, { requiredKeys: [] }),
  });
  const problem = fc.record(
    {
      reason: text,
      message: text,
      condition: fc.constantFrom("Bound", "Running"),
      phase: fc.constantFrom("", "Pending"),
    },
    { requiredKeys: ["reason", "message"] },
  );
  const condition = fc.record(
    {
      type: fc.constantFrom("Bound", "Ready", "Running", "Other"),
      status: fc.constantFrom("True", "False", "Unknown"),
      reason: text,
      message: text,
    },
    { requiredKeys: ["type", "status"] },
  );
  const before = fc.record(
    {
      claimName: text,
      phase: fc.oneof(fc.constantFrom(...PHASES), text),
      progress: text,
      restartCount: fc.nat(),
      conditions: fc.array(condition, { maxLength: 4 }),
    },
    { requiredKeys: [] },
  );
  const seen = fc
    .record({
      by: fc.constantFrom("nobody", "legacy", "populator"),
      target: parts,
      prime: fc.option(parts, { nil: undefined }),
      worker: fc.constantFrom(undefined, unborn, pod(), pod({ status: { phase: "Running" } })),
      pending: fc.option(
        fc.record({ claim: fc.constantFrom("fedora", "prime-target-uid", "other"), reason: text, message: text }),
        { nil: undefined },
      ),
      progress: fc.option(text, { nil: undefined }),
      cluster: fc.constantFrom({}, HONORED),
    })
    .map(({ by, target, prime, ...more }): Seen => {
      if (by === "nobody") return more;
      if (by === "legacy") return { ...more, target: ownClaim(target) };
      const populated = ownPopulatedClaim(target);
      return { ...more, target: populated, ...(prime && { prime: primeOf(populated, prime) }) };
    });

  it("the phase is a known one, and Succeeded means a bound claim that is ready", () => {
    fc.assert(
      fc.property(seen, fc.option(problem, { nil: undefined }), before, (cluster, found, old) => {
        const { status: after } = statusPass(cluster, { before: old, ...(found && { problem: found }) });
        assert.ok(
          PHASES.some((phase) => phase === (after.phase ?? "")),
          after.phase,
        );
        const claim = cluster.target;
        if (after.phase === "Succeeded" && claim !== undefined) assert.equal(claim.status?.phase, "Bound");
        const ready = after.conditions?.find(({ type }) => type === "Ready");
        assert.equal(ready?.status === "True", after.phase === "Succeeded" && claim !== undefined);
        if (after.phase === "WaitForFirstConsumer") assert.notEqual(claim?.status?.phase, "Bound");
      }),
      { numRuns: 500 },
    );
  });

  it("there is nothing to do when it is done", () => {
    fc.assert(
      fc.property(seen, fc.option(problem, { nil: undefined }), before, (cluster, found, old) => {
        const more = found === undefined ? {} : { problem: found };
        const { status: after } = statusPass(cluster, { before: old, ...more });
        const again = statusPass({ ...cluster, now: new Date(0) }, { before: after, ...more });
        assert.deepEqual(
          again.actions.filter((action) => action.do !== "again"),
          [],
        );
      }),
      { numRuns: 500 },
    );
  });
});
