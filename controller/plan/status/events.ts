/**
 * Events on a DataVolume (contract 2.5): what became different between its status as it is and as it will be, so each is sent
 * once, with the patch that makes the difference.
 *
 * Every event is a write. A phase that one pass jumps over has none; that a claim is pending or not yet there is said by the
 * phase; that it is bound, only where no event of a phase says more. KubeVirt CDI's warning of a complete import is left out.
 */
import type { Condition } from "../../api/cdi.ts";
import { ANNOTATIONS } from "../../api/names.ts";
import { findCondition, saysTheSame } from "../condition-times.ts";
import type { ImportView } from "./import-view.ts";
import type { DataVolumePhase } from "./phase.ts";

export interface StatusEvent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** Reasons of Running that are no warnings, whatever their message: the condition tells of them. */
const ORDINARY_REASONS: readonly string[] = ["Completed", "Scratch space required", "WaitingForTurn"];

/** @param conditions as they will be */
export function eventsOf(
  view: ImportView,
  phase: DataVolumePhase,
  conditions: readonly Condition[],
): readonly StatusEvent[] {
  const { before } = view;
  const ofPhase = phase === (before.phase ?? "") ? undefined : phaseEvent(view, phase);
  const changed = (type: string): Condition | undefined => {
    const [old, current] = [findCondition(before.conditions, type), findCondition(conditions, type)];
    return saysTheSame(old, current) ? undefined : current;
  };
  const [bound, running] = [changed("Bound"), changed("Running")];
  const wasSaid = findCondition(before.conditions, "Running")?.message;
  return [
    bound === undefined ? undefined : boundEvent(view, bound, ofPhase !== undefined),
    ofPhase,
    running === undefined || running.message === wasSaid || phase === "Succeeded" ? undefined : runningEvent(running),
  ].filter((event) => event !== undefined);
}

function phaseEvent(view: ImportView, phase: DataVolumePhase): StatusEvent | undefined {
  const { annotations, now, claimPhase } = view;
  const { name } = now;
  const podPhase = annotations[ANNOTATIONS.podPhase];
  if (phase === "Succeeded") return successEvent(view);
  if (phase === "Paused") return normal("ImportPaused", `Multistage import into PVC ${name} is paused`);
  if (phase === "Failed" && claimPhase === "Lost") return warning("ErrClaimLost", lostText(view));
  if (phase === "Failed" || (phase === "ImportScheduled" && podPhase === "Failed")) {
    return warning("ImportFailed", `Failed to import into PVC ${name}`);
  }
  if (phase === "ImportScheduled") return normal(phase, `Import into ${name} scheduled`);
  // What has ended by now was never seen in progress.
  const isSeen = podPhase === "Running" && !view.isTerminal;
  if (phase === "ImportInProgress" && isSeen) return normal(phase, `Import into ${name} in progress`);
  return undefined;
}

function lostText({ claim, now: { name } }: ImportView): string {
  const volume = claim?.spec.volumeName ?? "";
  return volume === "" ? `PVC ${name} lost` : `PVC ${name} lost: volume ${volume} is gone, or another claim has it`;
}

/** What came with its data was not imported. */
function successEvent({ now: { name }, isPrePopulated, isExternal }: ImportView): StatusEvent | undefined {
  if (isPrePopulated) return undefined;
  if (isExternal) return normal("ExternalPopulationSucceeded", `PVC ${name} populated`);
  return normal("ImportSucceeded", `Successfully imported into PVC ${name}`);
}

function boundEvent(view: ImportView, bound: Condition, isSaidByPhase: boolean): StatusEvent | undefined {
  const { reason = "", message = "" } = bound;
  if (bound.status === "True") return isSaidByPhase ? undefined : normal(reason, message);
  const isPlain = reason === "" || reason === "NotFound" || reason === "ClaimLost";
  if (isPlain || message === `PVC ${view.now.name} Pending`) return undefined;
  return view.problem?.reason === reason ? warning(reason, message) : normal(reason, message);
}

function runningEvent({ status, reason = "", message = "" }: Condition): StatusEvent | undefined {
  if (status === "True" || reason === "" || message === "" || ORDINARY_REASONS.includes(reason)) return undefined;
  return warning(reason, message);
}

function normal(reason: string, message: string): StatusEvent {
  return { type: "Normal", reason, message };
}

function warning(reason: string, message: string): StatusEvent {
  return { type: "Warning", reason, message };
}
