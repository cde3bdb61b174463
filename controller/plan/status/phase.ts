/**
 * The phase of a DataVolume (contract 2.2 and the last columns of 6.1 and 6.2). It is computed on every pass from the claim
 * and its annotations; nothing is remembered but the phase itself, where the contract leaves it as it was.
 *
 * Two differences from CDI: Succeeded only when the claim is bound to the volume with the data, and WaitForFirstConsumer only
 * where somebody else's pod has to bind the claim, because KubeVirt makes one for it.
 */
import { ANNOTATIONS } from "../../api/names.ts";
import { claimToFill } from "../claim-to-fill.ts";
import { hasStagesLeft } from "../import-annotations.ts";
import { bindsImmediately, findClass, honorsWaitForFirstConsumer, waitsForFirstConsumer } from "../storage-class.ts";
import type { ImportView } from "./import-view.ts";

/** All that this controller shows; "" is a claim that cannot be rendered. */
export const PHASES = [
  "",
  "Pending",
  "WaitForFirstConsumer",
  "PendingPopulation",
  "PVCBound",
  "ImportScheduled",
  "ImportInProgress",
  "Paused",
  "Succeeded",
  "Failed",
  "Unknown",
] as const;

export type DataVolumePhase = (typeof PHASES)[number];

/** Left only by what is seen of a worker. */
const IMPORTING: readonly DataVolumePhase[] = ["ImportScheduled", "ImportInProgress", "Paused"];

export function phaseOf(view: ImportView): DataVolumePhase {
  const decided = PHASES.find((phase) => phase === view.problem?.phase);
  const before = PHASES.find((phase) => phase === view.before.phase);
  switch (view.claimPhase) {
    case undefined:
      return decided ?? (before === undefined || before === "" ? "Pending" : before);
    case "Lost":
      return "Failed";
    case "Bound":
      return boundPhase(view, decided, before);
    case "Pending":
      return importPhase(view, before) ?? decided ?? pendingPhase(view, before);
    default:
      return "Unknown";
  }
}

function boundPhase(
  view: ImportView,
  decided: DataVolumePhase | undefined,
  before: DataVolumePhase | undefined,
): DataVolumePhase {
  if (view.isPrePopulated || view.isExternal) return "Succeeded";
  // Filled by another controller before this one, in a way that this one cannot tell.
  if (view.path === "none" && before === "Succeeded") return "Succeeded";
  return importPhase(view, before) ?? decided ?? "PVCBound";
}

/** As far as a worker is known; undefined if none is. */
function importPhase(view: ImportView, before: DataVolumePhase | undefined): DataVolumePhase | undefined {
  if (view.isPrePopulated || view.isExternal) return undefined;
  const podPhase = view.annotations[ANNOTATIONS.podPhase];
  if (podPhase === "Failed" && view.annotations[ANNOTATIONS.importFatalError] === "true") return "Failed";
  if (view.isTerminal) return "ImportInProgress";
  if (podPhase === "Succeeded") {
    if (hasStagesLeft(view.annotations)) return "Paused";
    return holdsData(view) ? "Succeeded" : "ImportInProgress";
  }
  if (podPhase === "Running") return "ImportInProgress";
  // Another pod comes.
  if (podPhase === "Failed") return "ImportScheduled";
  if (podPhase === "Unknown") return before !== undefined && IMPORTING.includes(before) ? before : "ImportScheduled";
  return view.isScheduled ? "ImportScheduled" : undefined;
}

/** Bound, and to the volume that the worker filled: not to one that a provisioner made for it meanwhile. */
function holdsData({ claim, claimPhase, now, path }: ImportView): boolean {
  if (claimPhase !== "Bound") return false;
  const prime = path === "populator" ? claimToFill(now) : undefined;
  return prime === undefined || prime.spec.volumeName === claim?.spec.volumeName;
}

function pendingPhase(view: ImportView, before: DataVolumePhase | undefined): DataVolumePhase {
  const { claim, annotations, now } = view;
  if (claim === undefined || annotations[ANNOTATIONS.volumeList] !== undefined) return "Pending";
  if (!waitsForFirstConsumer(findClass(now.cluster, claim.spec.storageClassName))) return "Pending";
  const isImmediate = bindsImmediately(claim);
  if (view.usesPopulator) {
    if (!isImmediate && annotations[ANNOTATIONS.selectedNode] === undefined) return "PendingPopulation";
    return before === "PendingPopulation" ? before : "Pending";
  }
  const nobodyElseBinds = view.isPrePopulated || view.isExternal;
  const waits = nobodyElseBinds || (honorsWaitForFirstConsumer(now.cluster) && !isImmediate);
  return waits ? "WaitForFirstConsumer" : "Pending";
}
