/**
 * The three conditions of a DataVolume: Bound, Ready and Running (contract 2.3).
 */
import type { Condition } from "../../api/cdi.ts";
import { conditionsWith } from "../condition-times.ts";
import type { Finding } from "../condition-times.ts";
import { boundFinding } from "./bound-condition.ts";
import { finding } from "./finding.ts";
import type { ImportView } from "./import-view.ts";
import type { DataVolumePhase } from "./phase.ts";
import { runningFinding } from "./running-condition.ts";

export function conditionsOf(view: ImportView, phase: DataVolumePhase): readonly Condition[] {
  const bound = boundFinding(view, phase);
  const running = runningFinding(view, phase);
  const ready = readyFinding(view, phase, { bound, running });
  return conditionsWith([bound, ready, running], view.before.conditions, view.now.now);
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
