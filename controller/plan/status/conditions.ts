/**
 * The three conditions of a DataVolume: Bound, Ready and Running (contract 2.3), and when they changed. The list is one value to
 * a merge patch, so a condition that says what it said before is taken over as it is, times included.
 */
import type { Condition } from "../../api/cdi.ts";
import { boundFinding } from "./bound-condition.ts";
import { finding } from "./finding.ts";
import type { Finding } from "./finding.ts";
import type { ImportView } from "./import-view.ts";
import type { DataVolumePhase } from "./phase.ts";
import { runningFinding } from "./running-condition.ts";

export function conditionsOf(view: ImportView, phase: DataVolumePhase): readonly Condition[] {
  const bound = boundFinding(view, phase);
  const running = runningFinding(view, phase);
  const ready = readyFinding(view, phase, { bound, running });
  return withTimes([bound, ready, running], view.before.conditions ?? [], view.now.now);
}

export function findCondition(conditions: readonly Condition[] | undefined, type: string): Condition | undefined {
  return conditions?.find((one) => one.type === type);
}

/** Equal in all but times. An empty text is none. */
export function saysTheSame(a: Finding | undefined, b: Finding | undefined): boolean {
  const same = (key: "reason" | "message"): boolean => (a?.[key] ?? "") === (b?.[key] ?? "");
  return a?.status === b?.status && same("reason") && same("message");
}

function readyFinding(
  { claim }: ImportView,
  phase: DataVolumePhase,
  { bound, running }: { readonly bound: Finding; readonly running: Finding },
): Finding {
  // Nothing is ready whose claim is gone.
  if (phase === "Succeeded" && claim !== undefined) return finding("Ready", "True");
  if (phase === "Unknown") return finding("Ready", "Unknown");
  if (running.status === "True") return finding("Ready", "False", "TransferRunning");
  return claim === undefined ? { ...bound, type: "Ready" } : finding("Ready", "False");
}

/** Times are to the second, as all of Kubernetes' are. Conditions of other types are somebody else's, and stay. */
function withTimes(findings: readonly Finding[], before: readonly Condition[], now: Date): readonly Condition[] {
  const time = `${now.toISOString().slice(0, "2026-01-01T00:00:00".length)}Z`;
  const others = before.filter(({ type }) => findings.every((one) => one.type !== type));
  const own = findings.map((found): Condition => {
    const last = findCondition(before, found.type);
    if (last !== undefined && saysTheSame(last, found)) return last;
    const isTransition = last?.status !== found.status;
    const lastTransitionTime = isTransition ? time : (last.lastTransitionTime ?? time);
    return { ...found, lastTransitionTime, lastHeartbeatTime: time };
  });
  return [...own, ...others];
}
