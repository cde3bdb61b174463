/**
 * From the worker pod to the annotations of its claim (contract 5.7): they outlive the pod, and everybody reads them, the rest
 * of this plan first.
 *
 * A write that says nothing new is not made, and what passes in a moment is not written: a pod that is starting, as all do, is
 * mentioned when it takes long.
 */
import type { Claim, Pod } from "../../api/kube.ts";
import { ANNOTATIONS, APP, LABELS } from "../../api/names.ts";
import { annotationsOf } from "../draft.ts";
import type { ImportDraft, MapChange } from "../draft.ts";
import { tell } from "../telling.ts";
import { endingOf } from "./ending.ts";
import type { Ending } from "./ending.ts";
import { noteState } from "./running-note.ts";
import {
  COMPLETE,
  restSinceEndMs,
  runningState,
  simplified,
  stopped,
  terminatedState,
  workerStatus,
} from "./running-state.ts";
import type { RunningState } from "./running-state.ts";
import { parseTermination } from "./termination-message.ts";
import { isLeaving, removeEndedWorker, removeWorker } from "./worker-removal.ts";

/** A pod that has not started by then is worth a word. */
const STARTS_WITHIN_MS = 10_000;

/** A kubelet says that the worker has ended, and a moment later, when nothing of it is left, that its pod has. */
const ENDS_WITHIN_MS = 5_000;

/** A pod that failed earlier than that was refused by its node, and the next one would be, too. */
const REPLACED_AFTER_MS = 10_000;

/** The scheduler's: of a condition, and of its events. */
const UNBOUND_TEXT = "unbound immediate PersistentVolumeClaims";
const SCHEDULER_REASON = "FailedScheduling";
/** The kubelet's, when it has heard of the pod before it hears that the claim is bound. */
const NOT_YET_BOUND_TEXT = "PVC is not bound";

const STARTING = ["ContainerCreating", "PodInitializing"];

const LEGACY_PREALLOCATION_TEXT = "Preallocation applied";

export function reportWorker(draft: ImportDraft, claim: Claim, pod: Pod): void {
  const ending = endingOf(pod);
  // What follows a pod that is on its way out, follows when it is gone; what it achieved counts.
  if (isLeaving(pod) && ending?.how !== "complete" && ending?.how !== "terminal") return;
  if (ending !== undefined) return reportEnding(draft, claim, pod, ending);
  const endingMs = restOfEndMs(draft, pod);
  if (endingMs !== undefined) return draft.again(endingMs);
  const state = stateWithWarning(draft, pod);
  if (isStarting(claim, pod, state)) {
    // No node starts it before its claim is bound, and of that the condition Bound tells.
    if (claim.status?.phase !== "Bound") return;
    const restMs = STARTS_WITHIN_MS - Math.min(ageMs(draft, pod), boundMs(draft));
    if (restMs > 0) return draft.again(restMs);
  }
  ensureLabel(draft, claim);
  const annotations = {
    ...seenAnnotations(claim, pod),
    ...(saysPreallocated(pod) ? { [ANNOTATIONS.preallocation]: "true" } : {}),
    [ANNOTATIONS.podPhase]: pod.status?.phase ?? "Pending",
  };
  if (state === undefined) return draft.annotate(claim, annotations);
  noteState(draft, claim, state, { annotations, ...(hasCrashed(pod) ? { event: "ErrImportFailed" } : {}) });
}

/** What a finished import leaves on its claim, whether a pod was needed for it or not. */
export function completeAnnotations(claim: Claim, podName: string): MapChange {
  const before = annotationsOf(claim);
  const { checkpointCurrent, checkpointPrevious, checkpointFinal, checkpointDone } = ANNOTATIONS;
  return {
    [ANNOTATIONS.importPodName]: podName,
    [ANNOTATIONS.podSchedulable]: "true",
    [ANNOTATIONS.podRestarts]: before[ANNOTATIONS.podRestarts] ?? "0",
    [ANNOTATIONS.importRequiresScratch]: "false",
    ...(before[ANNOTATIONS.importRequiresDirectIo] === undefined
      ? {}
      : { [ANNOTATIONS.importRequiresDirectIo]: "false" }),
    ...(before[checkpointFinal] === "true"
      ? {
          [checkpointCurrent]: undefined,
          [checkpointPrevious]: undefined,
          [checkpointFinal]: undefined,
          [checkpointDone]: "true",
        }
      : {}),
    [ANNOTATIONS.podPhase]: "Succeeded",
  };
}

/** For claims that nobody else labelled. */
export function ensureLabel(draft: ImportDraft, claim: Claim): void {
  if (claim.metadata.labels?.[LABELS.app] === undefined) draft.label(claim, { [LABELS.app]: APP });
}

/** On the populator path it is told when the target has the volume. */
export function tellSuccess(draft: ImportDraft, claim: Claim): void {
  const { target } = draft.now;
  if (target?.metadata.uid === claim.metadata.uid) tell(draft, claim, "Normal", "ImportSucceeded", "Import Successful");
}

function reportEnding(draft: ImportDraft, claim: Claim, pod: Pod, ending: Ending): void {
  const seen = seenAnnotations(claim, pod);
  ensureLabel(draft, claim);
  switch (ending.how) {
    case "complete":
      return reportSuccess(draft, claim, pod);
    case "scratch": {
      const state = stopped("Scratch space required", "scratch space required and none found");
      noteState(draft, claim, state, { annotations: { ...seen, [ANNOTATIONS.importRequiresScratch]: "true" } });
      return removeWorker(draft, pod);
    }
    case "out of memory": {
      const annotations = { ...seen, [ANNOTATIONS.importRequiresDirectIo]: "true" };
      noteState(draft, claim, terminatedState(ending.terminated), { annotations, event: "ErrImportFailed" });
      return removeWorker(draft, pod);
    }
    case "terminal": {
      const { code, message, isChecksum } = ending;
      const annotations = isChecksum
        ? { [ANNOTATIONS.podPhase]: "Failed", [ANNOTATIONS.importFatalError]: "true" }
        : { [ANNOTATIONS.podPhase]: "Running", [ANNOTATIONS.terminal]: code };
      noteState(draft, claim, stopped(isChecksum ? "ChecksumError" : "Error", simplified(message)), {
        annotations: { ...seen, ...annotations },
        event: "ErrImportFailed",
      });
      return removeEndedWorker(draft, pod);
    }
    case "failed": {
      noteState(draft, claim, stopped(ending.reason, ending.message), {
        annotations: { ...seen, [ANNOTATIONS.podPhase]: "Failed" },
        event: "ErrImportFailed",
      });
      const restMs = REPLACED_AFTER_MS - ageMs(draft, pod);
      return restMs > 0 ? draft.again(restMs) : removeWorker(draft, pod);
    }
  }
}

function reportSuccess(draft: ImportDraft, claim: Claim, pod: Pod): void {
  const said = parseTermination(workerStatus(pod)?.state?.terminated?.message);
  noteState(draft, claim, runningState(pod) ?? stopped("Completed", COMPLETE), {
    annotations: {
      ...seenAnnotations(claim, pod),
      ...completeAnnotations(claim, pod.metadata.name),
      [ANNOTATIONS.podRestarts]: restartsOf(claim, pod),
      ...(said?.preallocationApplied === true || saysPreallocated(pod) ? { [ANNOTATIONS.preallocation]: "true" } : {}),
    },
  });
  const labels = Object.entries(said?.labels ?? {});
  draft.label(claim, Object.fromEntries(labels.filter(([name]) => claim.metadata.labels?.[name] === undefined)));
  tellSuccess(draft, claim);
  removeEndedWorker(draft, pod);
}

/** Whatever the pod is doing. */
function seenAnnotations(claim: Claim, pod: Pod): MapChange {
  return {
    [ANNOTATIONS.importPodName]: pod.metadata.name,
    [ANNOTATIONS.podSchedulable]: String(!isUnschedulable(pod)),
    [ANNOTATIONS.podRestarts]: restartsOf(claim, pod),
    [ANNOTATIONS.importRequiresScratch]: annotationsOf(claim)[ANNOTATIONS.importRequiresScratch] ?? "false",
  };
}

/** The most of all pods so far: a new one starts from none. */
function restartsOf(claim: Claim, pod: Pod): string {
  const before = annotationsOf(claim)[ANNOTATIONS.podRestarts] ?? "";
  const counted = workerStatus(pod)?.restartCount ?? 0;
  return String(Math.max(/^\d{1,9}$/.test(before) ? Number(before) : 0, counted));
}

/** A claim that has no volume yet is no fault of the nodes; the condition Bound tells of it. */
function isUnschedulable({ status }: Pod): boolean {
  if ((status?.phase ?? "Pending") !== "Pending") return false;
  const condition = status?.conditions?.find(({ type }) => type === "PodScheduled");
  return condition?.reason === "Unschedulable" && condition.message?.includes(UNBOUND_TEXT) !== true;
}

/**
 * A container that waits for a volume says so to nobody; the kubelet's events do. Those of the scheduler are past by then, and
 * of a claim that is not bound the condition Bound tells.
 */
function stateWithWarning({ now: { workerWarning } }: ImportDraft, pod: Pod): RunningState | undefined {
  const state = runningState(pod);
  if (workerWarning === undefined || pod.status?.phase !== "Pending") return state;
  if (workerWarning.reason === SCHEDULER_REASON || workerWarning.message.includes(NOT_YET_BOUND_TEXT)) return state;
  if (state === undefined || state.message !== "") return state;
  return stopped(state.reason, workerWarning.message);
}

function isStarting(claim: Claim, pod: Pod, state: RunningState | undefined): boolean {
  if (annotationsOf(claim)[ANNOTATIONS.importPodName] !== undefined) return false;
  if ((pod.status?.phase ?? "Pending") !== "Pending" || isUnschedulable(pod)) return false;
  return state === undefined || (STARTING.includes(state.reason) && state.message === "");
}

/** It ended with a failure, and the kubelet starts it again. */
function hasCrashed(pod: Pod): boolean {
  const { state, lastState } = workerStatus(pod) ?? {};
  const terminated = state?.terminated ?? (state?.waiting === undefined ? undefined : lastState?.terminated);
  return terminated !== undefined && terminated.exitCode !== 0;
}

/** As workers that end with a plain text say it. */
function saysPreallocated(pod: Pod): boolean {
  return workerStatus(pod)?.state?.terminated?.message?.includes(LEGACY_PREALLOCATION_TEXT) === true;
}

function ageMs({ now: { now } }: ImportDraft, { metadata: { creationTimestamp } }: Pod): number {
  return sinceMs(creationTimestamp, now);
}

/** How long a worker that ended well may wait for its pod to end; undefined: it has not, or it takes too long. */
function restOfEndMs({ now: { now } }: ImportDraft, pod: Pod): number | undefined {
  const endedWell = workerStatus(pod)?.state?.terminated?.exitCode === 0;
  return endedWell ? restSinceEndMs(pod, now, ENDS_WITHIN_MS) : undefined;
}

/** For how long the claim has had its volume. */
function boundMs({ now: { volume, now } }: ImportDraft): number {
  return sinceMs(volume?.status?.lastPhaseTransitionTime, now);
}

/** Where nobody says since when: for as long as can be. */
function sinceMs(time: string | undefined, now: Date): number {
  const at = Date.parse(time ?? "");
  return Number.isNaN(at) ? Number.MAX_SAFE_INTEGER : now.getTime() - at;
}
