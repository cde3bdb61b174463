/**
 * Phases: the rows of the contract's table 2.2, and the phase columns of both tables on WaitForFirstConsumer (6.1, 6.2).
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ANNOTATIONS, GATE_HONOR_WAIT_FOR_FIRST_CONSUMER } from "../../../../controller/api/names.ts";
import type { Problem } from "../../../../controller/plan/draft.ts";
import { phaseOf } from "../../../../controller/plan/status/phase.ts";
import {
  cdiConfig,
  claim,
  CSI_CLASS,
  dataVolume,
  LOCAL_CLASS,
  pod,
  primeOf,
  unborn,
  WAITING_CSI_CLASS,
} from "../../../support/observed-import.ts";
import { ownClaim, ownPopulatedClaim, viewOf } from "../../../support/status-pass.ts";
import type { Seen } from "../../../support/status-pass.ts";

const { podPhase, importPodName, immediateBind, selectedNode, importFatalError } = ANNOTATIONS;
const BOUND = { phase: "Bound" } as const;
const VOLUME = { volumeName: "pv-1" };
const HONORED = { config: cdiConfig({ featureGates: [GATE_HONOR_WAIT_FOR_FIRST_CONSUMER] }) };

const bound = (annotations: Readonly<Record<string, string>> = {}): Seen => ({
  target: ownClaim({ annotations, status: BOUND, spec: VOLUME }),
});
/** The target waits while its prime is filled. */
function filling(annotations: Readonly<Record<string, string>>, more: Seen = {}): Seen {
  const target = ownPopulatedClaim({ annotations });
  const primeAnnotations = annotations[podPhase] === undefined ? {} : { [podPhase]: annotations[podPhase] };
  return { target, prime: primeOf(target, { status: BOUND, spec: VOLUME, annotations: primeAnnotations }), ...more };
}

type Row = readonly [name: string, seen: Seen, before: string | undefined, wanted: string, problem?: Problem];

const ROWS: readonly Row[] = [
  ["nothing yet", {}, undefined, "Pending"],
  ["no claim can be rendered", {}, undefined, "", { reason: "ErrClaimNotValid", message: "no class", phase: "" }],
  ["a quota refuses the claim", {}, undefined, "Pending", { reason: "ErrExceededQuota", message: "too much" }],
  ["the claim is gone: as it was", {}, "Succeeded", "Succeeded"],
  ["the claim is foreign", { target: claim({ status: BOUND }) }, undefined, "Pending"],
  ["the claim was just made", { target: ownClaim({ status: {} }) }, undefined, "Pending"],
  [
    "the claim waits for a volume by name",
    { target: ownClaim({ annotations: { [ANNOTATIONS.volumeList]: "[]" } }) },
    "",
    "Pending",
  ],
  ["the claim is bound, nothing else is known", bound(), "Pending", "PVCBound"],
  ["the claim is bound after its consumer came", bound(), "WaitForFirstConsumer", "PVCBound"],
  ["the claim is lost", { target: ownClaim({ status: { phase: "Lost" } }) }, "ImportInProgress", "Failed"],
  [
    "the claim is in no known phase",
    { target: ownClaim({ status: { phase: "Odd" as "Lost" } }) },
    "Pending",
    "Unknown",
  ],

  ["legacy: the pod has a name", bound({ [importPodName]: "importer-fedora" }), "PVCBound", "ImportScheduled"],
  ["legacy: the pod was made in this pass", { ...bound(), worker: unborn(pod()) }, "Pending", "ImportScheduled"],
  ["legacy: the pod waits", bound({ [podPhase]: "Pending" }), "PVCBound", "ImportScheduled"],
  ["legacy: the pod runs", bound({ [podPhase]: "Running" }), "ImportScheduled", "ImportInProgress"],
  ["legacy: done", bound({ [podPhase]: "Succeeded" }), "ImportInProgress", "Succeeded"],
  ["legacy: the pod was lost from sight", bound({ [podPhase]: "Unknown" }), "ImportInProgress", "ImportInProgress"],
  ["legacy: never seen but lost", bound({ [podPhase]: "Unknown" }), "PVCBound", "ImportScheduled"],
  ["legacy: the pod failed and is replaced", bound({ [podPhase]: "Failed" }), "ImportInProgress", "ImportScheduled"],
  ["legacy: wrong checksum", bound({ [podPhase]: "Failed", [importFatalError]: "true" }), "ImportInProgress", "Failed"],
  ["legacy: no retry will help", bound({ [ANNOTATIONS.terminal]: "1" }), "ImportInProgress", "ImportInProgress"],
  [
    "legacy: no retry will help, whatever the pod ended as",
    bound({ [ANNOTATIONS.terminal]: "1", [podPhase]: "Succeeded" }),
    "ImportScheduled",
    "ImportInProgress",
  ],
  [
    "legacy: stages are left",
    bound({ [podPhase]: "Succeeded", [ANNOTATIONS.checkpointCurrent]: "2" }),
    "ImportInProgress",
    "Paused",
  ],
  [
    "legacy: the last stage is done",
    bound({ [podPhase]: "Succeeded", [ANNOTATIONS.checkpointDone]: "true" }),
    "ImportInProgress",
    "Succeeded",
  ],

  ["populator: the prime is bound, its pod not seen", filling({}), "Pending", "Pending"],
  ["populator: the pod is seen", filling({}, { worker: pod() }), "Pending", "ImportScheduled"],
  ["populator: the pod waits", filling({ [podPhase]: "Pending" }), "Pending", "ImportScheduled"],
  ["populator: the pod runs", filling({ [podPhase]: "Running" }), "ImportScheduled", "ImportInProgress"],
  [
    "populator: filled, not yet handed over",
    filling({ [podPhase]: "Succeeded" }),
    "ImportInProgress",
    "ImportInProgress",
  ],
  ["populator: handed over", handedOver({ ...VOLUME }), "ImportInProgress", "Succeeded"],
  [
    "populator: bound to a volume that nobody filled",
    handedOver({ volumeName: "empty" }),
    "ImportInProgress",
    "ImportInProgress",
  ],
  [
    "populator: the prime is gone again",
    { target: ownPopulatedClaim({ annotations: { [podPhase]: "Succeeded" }, status: BOUND }) },
    "ImportInProgress",
    "Succeeded",
  ],
  [
    "populator: the prime is gone, and somebody made another claim of its name",
    {
      target: ownPopulatedClaim({ annotations: { [podPhase]: "Succeeded" }, spec: VOLUME, status: BOUND }),
      prime: claim({ name: "prime-target-uid" }),
    },
    "Succeeded",
    "Succeeded",
  ],
  [
    "populator: the prime was deleted, all starts again",
    { target: ownPopulatedClaim() },
    "ImportInProgress",
    "Pending",
  ],
  ["populator: bound behind its back", { target: ownPopulatedClaim({ status: BOUND }) }, "Pending", "PVCBound"],

  [
    "it came with its data",
    { target: ownClaim({ annotations: { [ANNOTATIONS.populatedFor]: "fedora" }, status: BOUND }) },
    "Pending",
    "Succeeded",
  ],
  [
    "it came with its data, but is not bound",
    { target: ownClaim({ annotations: { [ANNOTATIONS.populatedFor]: "fedora" } }) },
    "Pending",
    "Pending",
  ],
  ["an adopted claim", { target: adopted({ status: BOUND }) }, "Pending", "Succeeded"],
  [
    "an adopted claim that waits for a consumer",
    { target: adopted({ spec: { storageClassName: LOCAL_CLASS } }) },
    "",
    "WaitForFirstConsumer",
  ],
  [
    "an adopted CSI claim that waits for a consumer",
    {
      target: adopted({
        spec: { storageClassName: WAITING_CSI_CLASS },
        annotations: { [ANNOTATIONS.usePopulator]: "true" },
      }),
    },
    "",
    "PendingPopulation",
  ],
  ["another populator fills it", { target: external({}) }, "", "Pending"],
  ["another populator filled it", { target: external({ status: BOUND }) }, "Pending", "Succeeded"],
  ["another controller finished it in its own way", { target: own({ status: BOUND }) }, "Succeeded", "Succeeded"],
  ["nobody knows how to fill it", { target: own({ status: BOUND }) }, "Pending", "PVCBound"],
  [
    "a problem decides, while nothing is imported",
    { target: ownClaim() },
    "",
    "Pending",
    { reason: "ErrExceededQuota", message: "too much", phase: "Pending" },
  ],
];

/** Contract 6.1: class, immediate, selected node → phase until the prime is bound and the worker is known. */
const POPULATOR: readonly [
  storageClassName: string,
  immediate: boolean,
  node: boolean,
  before: string,
  wanted: string,
][] = [
  [CSI_CLASS, false, false, "Pending", "Pending"],
  [CSI_CLASS, true, true, "Pending", "Pending"],
  [WAITING_CSI_CLASS, false, false, "Pending", "PendingPopulation"],
  [WAITING_CSI_CLASS, false, true, "PendingPopulation", "PendingPopulation"],
  [WAITING_CSI_CLASS, false, true, "Pending", "Pending"],
  [WAITING_CSI_CLASS, true, false, "Pending", "Pending"],
  [WAITING_CSI_CLASS, true, true, "PendingPopulation", "PendingPopulation"],
  [WAITING_CSI_CLASS, true, true, "Pending", "Pending"],
];

/** Contract 6.2: class, gate, immediate → phase while the claim is pending. */
const LEGACY: readonly [storageClassName: string, gate: boolean, immediate: boolean, wanted: string][] = [
  [CSI_CLASS, true, false, "Pending"],
  [CSI_CLASS, true, true, "Pending"],
  [CSI_CLASS, false, false, "Pending"],
  [CSI_CLASS, false, true, "Pending"],
  [LOCAL_CLASS, true, false, "WaitForFirstConsumer"],
  // CDI shows WaitForFirstConsumer, and KubeVirt makes a pod for nothing.
  [LOCAL_CLASS, true, true, "Pending"],
  [LOCAL_CLASS, false, false, "Pending"],
  [LOCAL_CLASS, false, true, "Pending"],
];

describe("phaseOf", () => {
  for (const [name, seen, before, wanted, problem] of ROWS) {
    it(`${name}: ${before ?? "none"} → "${wanted}"`, () => {
      const more = { ...(before === undefined ? {} : { before: { phase: before } }), ...(problem && { problem }) };
      assert.equal(phaseOf(viewOf(seen, more)), wanted);
    });
  }

  for (const [storageClassName, immediate, node, before, wanted] of POPULATOR) {
    it(`populator, ${storageClassName}, immediate ${immediate}, node ${node}: ${before} → ${wanted}`, () => {
      const annotations = { ...(immediate && { [immediateBind]: "" }), ...(node && { [selectedNode]: "node2" }) };
      const target = ownPopulatedClaim({ annotations, spec: { storageClassName } });
      for (const cluster of [{}, HONORED]) {
        assert.equal(phaseOf(viewOf({ target, cluster }, { before: { phase: before } })), wanted);
        const prime = primeOf(target, { annotations: { [importPodName]: "importer-prime" } });
        assert.equal(
          phaseOf(viewOf({ target, prime, worker: pod(), cluster }, { before: { phase: before } })),
          wanted,
          "the pod waits for the prime",
        );
        const boundPrime = { ...prime, status: BOUND };
        assert.equal(phaseOf(viewOf({ target, prime: boundPrime, worker: pod(), cluster })), "ImportScheduled");
      }
    });
  }

  for (const [storageClassName, gate, immediate, wanted] of LEGACY) {
    it(`legacy, ${storageClassName}, gate ${gate}, immediate ${immediate}: ${wanted}`, () => {
      const annotations: Readonly<Record<string, string>> = immediate ? { [immediateBind]: "false" } : {};
      const target = ownClaim({ annotations, spec: { storageClassName } });
      const cluster = gate ? HONORED : { config: cdiConfig() };
      assert.equal(phaseOf(viewOf({ target, cluster }, { before: { phase: "Pending" } })), wanted);
      const boundTarget = { ...target, status: BOUND };
      assert.equal(phaseOf(viewOf({ target: boundTarget, cluster }, { before: { phase: wanted } })), "PVCBound");
    });
  }
});

/** The target is bound to this volume, the prime has lost its own. */
function handedOver(spec: { readonly volumeName: string }): Seen {
  const target = ownPopulatedClaim({ annotations: { [podPhase]: "Succeeded" }, status: BOUND, spec });
  return { target, prime: primeOf(target, { status: { phase: "Lost" }, spec: VOLUME }) };
}

/** Made for another DataVolume; this one may have it. */
function adopted({ annotations, ...rest }: NonNullable<Parameters<typeof claim>[0]>) {
  return own({ annotations: { [ANNOTATIONS.createdForDataVolume]: "old-uid", ...annotations }, ...rest });
}

/** Made for the DataVolume, without anything that says how to fill it. */
function own({ annotations, ...rest }: NonNullable<Parameters<typeof claim>[0]>) {
  return claim({
    owner: dataVolume(),
    annotations: { [ANNOTATIONS.createdForDataVolume]: "dv-uid", ...annotations },
    ...rest,
  });
}

function external(parts: NonNullable<Parameters<typeof claim>[0]>) {
  const reference = { apiGroup: "images.example.org", kind: "Disk", name: "one" };
  return own({
    annotations: { [ANNOTATIONS.externalPopulation]: "true" },
    spec: { dataSourceRef: reference },
    ...parts,
  });
}
