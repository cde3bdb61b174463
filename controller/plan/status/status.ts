/**
 * The last step of a plan: what the DataVolume's status says of its import, in at most one patch, and the events that tell of
 * the difference (contract 2.2 to 2.5). KubeVirt starts virtual machines by it, people read it in `kubectl get` and `describe`.
 */
import type { DataVolumeStatus } from "../../api/cdi.ts";
import type { ImportDraft } from "../draft.ts";
import { newsDueInMs } from "./bound-condition.ts";
import { conditionsOf } from "./conditions.ts";
import { restOfCrowdMs } from "./crowd.ts";
import { eventsOf } from "./events.ts";
import { restOfMomentMs } from "./handing-over.ts";
import { viewImport } from "./import-view.ts";
import { phaseOf } from "./phase.ts";
import { progressOf, restartsOf } from "./progress.ts";

export function planStatus(draft: ImportDraft): void {
  const { now } = draft;
  const { dataVolume } = now;
  // What is being deleted goes with all that it owns, and nobody reads it any more.
  if (dataVolume === undefined || dataVolume.metadata.deletionTimestamp !== undefined) return;
  const view = viewImport(now, dataVolume, draft.foundProblem);
  const restMs = restOfMomentMs(view);
  if (restMs !== undefined) return draft.again(restMs);
  const phase = phaseOf(view);
  const conditions = conditionsOf(view, phase);
  const events = eventsOf(view, phase, conditions);
  const heldMs = events.some(({ type }) => type === "Warning") ? undefined : restOfCrowdMs(view, phase);
  if (heldMs !== undefined) return draft.again(heldMs);
  const after: Record<keyof DataVolumeStatus, unknown> = {
    claimName: now.name,
    // Absent is how "" and 0 are written.
    phase: phase === "" ? null : phase,
    progress: progressOf(view, phase) ?? null,
    restartCount: restartsOf(view) ?? null,
    conditions,
  };
  draft.patch(dataVolume, { status: after }, { status: true });
  for (const { type, reason, message } of events) draft.event(dataVolume, type, reason, message);
  const dueInMs = newsDueInMs(view);
  if (dueInMs !== undefined) draft.again(dueInMs);
}
