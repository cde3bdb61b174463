/**
 * What the user of a target sees of its prime (contract 4.5): the annotations about its worker, which are removed where the
 * prime has none, the progress, and the labels that a disk image brought along.
 *
 * All of it is one patch, so that the labels are there when `pod.phase` says Succeeded.
 */
import { MAX_MESSAGE_LENGTH } from "../../../importer/termination.ts";
import type { Claim, StringMap } from "../../api/kube.ts";
import { ANNOTATIONS } from "../../api/names.ts";
import { cutText } from "../cut-text.ts";
import { annotationsOf } from "../draft.ts";
import type { ImportDraft, MapChange } from "../draft.ts";
import type { ObservedImport } from "../observed.ts";
import { tell } from "../telling.ts";

const MIRRORED = [
  ANNOTATIONS.podPhase,
  ANNOTATIONS.podReady,
  ANNOTATIONS.podRestarts,
  ANNOTATIONS.podSchedulable,
  ANNOTATIONS.preallocationRequested,
  ANNOTATIONS.preallocation,
  ANNOTATIONS.checkpointCurrent,
  ANNOTATIONS.checkpointDone,
  ANNOTATIONS.running,
  ANNOTATIONS.runningMessage,
  ANNOTATIONS.runningReason,
  ANNOTATIONS.importFatalError,
  ANNOTATIONS.terminal,
];

const DONE = "100.0%";
const UNKNOWN = "N/A";
/** As a worker's metrics say it; a hundred may come before the end. */
const SHARE_PATTERN = /^\d{1,2}\.\d{2}%$/;
const KUBEVIRT_LABEL_PATTERN = /^(?:[a-z0-9.-]+\.)?kubevirt\.io\//;

export function mirrorPrime(draft: ImportDraft, target: Claim, prime: Claim): void {
  const from = annotationsOf(prime);
  const before = annotationsOf(target);
  if (isTooEarly(draft.now, from, before)) return;
  draft.label(target, newLabels(target, prime));
  draft.annotate(target, {
    [ANNOTATIONS.prime]: prime.metadata.name,
    ...Object.fromEntries(MIRRORED.map((name) => [name, mirrored(from[name])])),
    [ANNOTATIONS.populatorProgress]: progressOf(draft.now, from, before),
    ...boundCondition(draft.now, before),
  });

  const phase = from[ANNOTATIONS.podPhase];
  if (phase === before[ANNOTATIONS.podPhase]) return;
  const { name } = target.metadata;
  if (phase === "Failed") tell(draft, target, "Warning", "importFailed", `Failed to import into PVC ${name}`);
  if (phase === "Succeeded") tell(draft, target, "Normal", "importSucceeded", `Successfully imported into PVC ${name}`);
}

/** What the worker's step writes is no longer; a user may have written anything, and the target has to have room for it. */
function mirrored(text: string | undefined): string | undefined {
  return text === undefined ? undefined : cutText(text, MAX_MESSAGE_LENGTH);
}

/**
 * A worker was made, and nothing is known of it: the prime's name comes with the first news. What the prime waits for is news
 * to who has no DataVolume that says it.
 */
function isTooEarly({ worker, pending, dataVolume }: ObservedImport, prime: StringMap, target: StringMap): boolean {
  const { podPhase, running } = ANNOTATIONS;
  const isNews = [podPhase, running].some((name) => prime[name] !== undefined || target[name] !== undefined);
  if (worker === undefined || isNews || target[ANNOTATIONS.prime] !== undefined) return false;
  return pending === undefined || dataVolume !== undefined;
}

/** KubeVirt's, of any of its domains. What the target says itself stays. */
function newLabels(target: Claim, prime: Claim): StringMap {
  const own = target.metadata.labels ?? {};
  const brought = Object.entries(prime.metadata.labels ?? {});
  return Object.fromEntries(brought.filter(([key]) => KUBEVIRT_LABEL_PATTERN.test(key) && !Object.hasOwn(own, key)));
}

function progressOf({ progress }: ObservedImport, prime: StringMap, target: StringMap): string {
  const phase = prime[ANNOTATIONS.podPhase];
  if (phase === "Succeeded") return DONE;
  if (phase === "Running" && progress !== undefined && SHARE_PATTERN.test(progress)) return progress;
  const before = target[ANNOTATIONS.populatorProgress];
  return before === undefined || before === DONE ? UNKNOWN : before;
}

/** Why the prime has no volume yet. A DataVolume says it in its own condition. */
function boundCondition({ dataVolume, pending, prime }: ObservedImport, before: StringMap): MapChange {
  const isPending = dataVolume === undefined && pending !== undefined && pending.claim === prime?.metadata.name;
  if (isPending && prime.status?.phase === "Pending") {
    return {
      [ANNOTATIONS.bound]: "false",
      [ANNOTATIONS.boundReason]: pending.reason,
      [ANNOTATIONS.boundMessage]: pending.message,
    };
  }
  // Only what was written here: the worker's step has reasons of its own.
  const isOurs =
    dataVolume === undefined && before[ANNOTATIONS.bound] !== undefined && prime?.status?.phase !== "Pending";
  if (!isOurs) return {};
  return {
    [ANNOTATIONS.bound]: undefined,
    [ANNOTATIONS.boundReason]: undefined,
    [ANNOTATIONS.boundMessage]: undefined,
  };
}
