/**
 * Events of a DataVolume: one row for each difference that is told, and for each that is not.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { DataVolumeStatus } from "../../../../controller/api/cdi.ts";
import { ANNOTATIONS } from "../../../../controller/api/names.ts";
import type { Problem } from "../../../../controller/plan/draft.ts";
import { claim, dataVolume, primeOf } from "../../../support/observed-import.ts";
import { ownClaim, ownPopulatedClaim, statusPass } from "../../../support/status-pass.ts";
import type { Seen } from "../../../support/status-pass.ts";

const { podPhase, running, runningReason, runningMessage, importFatalError, terminal } = ANNOTATIONS;

function bound(annotations: Readonly<Record<string, string>> = {}): Seen {
  return { target: ownClaim({ status: { phase: "Bound" }, annotations }) };
}
const failing = (reason: string, message: string, more: Readonly<Record<string, string>> = {}): Seen =>
  bound({ [running]: "false", [runningReason]: reason, [runningMessage]: message, ...more });

/** What a pass over this says: where the next one starts. */
function after(seen: Seen): DataVolumeStatus {
  return statusPass(seen).status;
}

const PENDING = after({ target: ownClaim() });
const IN_PROGRESS = after(bound({ [podPhase]: "Running", [running]: "true", [runningReason]: "Pod is running" }));

type Row = readonly [name: string, before: DataVolumeStatus, seen: Seen, events: readonly string[], problem?: Problem];

const ROWS: readonly Row[] = [
  ["nothing yet", {}, {}, []],
  ["a pending claim", {}, { target: ownClaim() }, []],
  ["a bound claim", PENDING, bound(), ["Normal Bound: PVC fedora Bound"]],
  [
    "a bound claim whose pod is on its way",
    PENDING,
    bound({ [podPhase]: "Pending" }),
    ["Normal ImportScheduled: Import into fedora scheduled"],
  ],
  [
    "the pod runs",
    after(bound({ [podPhase]: "Pending" })),
    bound({ [podPhase]: "Running" }),
    ["Normal ImportInProgress: Import into fedora in progress"],
  ],
  [
    "the pod runs, seen at once",
    {},
    bound({ [podPhase]: "Running" }),
    ["Normal ImportInProgress: Import into fedora in progress"],
  ],
  [
    "done",
    IN_PROGRESS,
    failing("Completed", "Import Complete", { [podPhase]: "Succeeded" }),
    ["Normal ImportSucceeded: Successfully imported into PVC fedora"],
  ],
  ["filled, on its way to the target", after(filled("Pending", "Running")), filled("Pending", "Succeeded"), []],
  [
    "arrived",
    after(filled("Pending", "Succeeded")),
    filled("Bound", "Succeeded"),
    ["Normal ImportSucceeded: Successfully imported into PVC fedora"],
  ],
  [
    "done, all seen at once",
    {},
    bound({ [podPhase]: "Succeeded" }),
    ["Normal ImportSucceeded: Successfully imported into PVC fedora"],
  ],
  [
    "stages are left",
    IN_PROGRESS,
    bound({ [podPhase]: "Succeeded", [ANNOTATIONS.checkpointCurrent]: "2" }),
    ["Normal ImportPaused: Multistage import into PVC fedora is paused"],
  ],
  [
    "the pod was evicted",
    IN_PROGRESS,
    failing("Evicted", "the node was low on memory", { [podPhase]: "Failed" }),
    ["Warning ImportFailed: Failed to import into PVC fedora", "Warning Evicted: the node was low on memory"],
  ],
  [
    "the worker failed, and is started again",
    IN_PROGRESS,
    failing("Error", "status 404", { [podPhase]: "Running" }),
    ["Warning Error: status 404"],
  ],
  [
    "it waits to be started again",
    after(failing("Error", "status 404", { [podPhase]: "Running" })),
    failing("Error", "status 404", { [podPhase]: "Running", [ANNOTATIONS.podRestarts]: "2" }),
    [],
  ],
  [
    "it runs again",
    after(failing("Error", "status 404", { [podPhase]: "Running" })),
    bound({ [podPhase]: "Running", [running]: "true", [runningReason]: "Pod is running" }),
    [],
  ],
  [
    "no retry helps",
    after(bound({ [podPhase]: "Pending" })),
    failing("Error", "the image is damaged", { [terminal]: "FORMAT_CORRUPT", [podPhase]: "Running" }),
    ["Warning Error: the image is damaged"],
  ],
  [
    "wrong checksum",
    IN_PROGRESS,
    failing("ChecksumError", "checksum mismatch", { [podPhase]: "Failed", [importFatalError]: "true" }),
    ["Warning ImportFailed: Failed to import into PVC fedora", "Warning ChecksumError: checksum mismatch"],
  ],
  [
    "scratch space is needed",
    IN_PROGRESS,
    failing("Scratch space required", "none found", { [podPhase]: "Running" }),
    [],
  ],
  ["the pod is made", PENDING, failing("ContainerCreating", ""), ["Normal Bound: PVC fedora Bound"]],
  [
    "no node",
    after(bound({ [podPhase]: "Pending" })),
    bound({ [podPhase]: "Pending", [ANNOTATIONS.podSchedulable]: "false" }),
    ["Warning Unschedulable: Importer pod cannot be scheduled"],
  ],
  ["lost", IN_PROGRESS, { target: ownClaim({ status: { phase: "Lost" } }) }, ["Warning ErrClaimLost: PVC fedora lost"]],
  [
    "lost, with its volume's name",
    IN_PROGRESS,
    { target: ownClaim({ status: { phase: "Lost" }, spec: { volumeName: "pv-1" } }) },
    ["Warning ErrClaimLost: PVC fedora lost: volume pv-1 is gone, or another claim has it"],
  ],
  [
    "the claim waits for a reason",
    PENDING,
    { target: ownClaim(), pending: { claim: "fedora", reason: "ProvisioningFailed", message: "pool a is full" } },
    ["Normal ProvisioningFailed: pool a is full"],
  ],
  [
    "a step cannot go on",
    {},
    {},
    ["Warning ErrClaimNotValid: no access mode"],
    { reason: "ErrClaimNotValid", message: "no access mode", phase: "" },
  ],
  [
    "a step still cannot go on",
    statusPass({}, { problem: { reason: "ErrClaimNotValid", message: "no access mode", phase: "" } }).status,
    {},
    [],
    { reason: "ErrClaimNotValid", message: "no access mode", phase: "" },
  ],
  [
    "the claim is somebody else's",
    {},
    { target: claim() },
    ["Warning ErrResourceExists: it is"],
    { reason: "ErrResourceExists", message: "it is" },
  ],
  [
    "the import waits for its turn",
    PENDING,
    bound(),
    ["Normal Bound: PVC fedora Bound"],
    { reason: "WaitingForTurn", message: "at most 2 run at a time", condition: "Running" },
  ],
  [
    "the worker cannot be placed",
    PENDING,
    bound(),
    ["Normal Bound: PVC fedora Bound", "Warning ErrPlacement: no such key"],
    { reason: "ErrPlacement", message: "no such key", condition: "Running" },
  ],
  [
    "it came with its data",
    PENDING,
    bound({ [ANNOTATIONS.populatedFor]: "fedora" }),
    ["Normal Bound: PVC fedora Bound"],
  ],
  [
    "another populator filled it",
    PENDING,
    bound({ [ANNOTATIONS.externalPopulation]: "true" }),
    ["Normal ExternalPopulationSucceeded: PVC fedora populated"],
  ],
];

describe("eventsOf", () => {
  for (const [name, before, seen, events, problem] of ROWS) {
    it(name, () => {
      const more = { before, ...(problem && { problem }) };
      const pass = statusPass(seen, more);
      assert.deepEqual(pass.events, events);
      assert.deepEqual(statusPass(seen, { ...more, before: pass.status }).events, [], "said once");
    });
  }

  it("come after the patch that makes the difference, on the DataVolume", () => {
    const [patch, event] = statusPass(bound({ [podPhase]: "Succeeded" })).actions;
    assert.equal(patch?.do, "patch");
    assert.equal(event?.do === "event" && event.on.metadata.uid, dataVolume().metadata.uid);
  });
});

function filled(targetPhase: "Pending" | "Bound", podState: string): Seen {
  const spec = { volumeName: "pv-1" };
  const annotations = { [podPhase]: podState, [running]: String(podState === "Running") };
  const target = ownPopulatedClaim({ annotations, status: { phase: targetPhase }, spec });
  return { target, prime: primeOf(target, { annotations, status: { phase: "Bound" }, spec }) };
}
