/**
 * While so many imports wait for their turn that the API server is what they wait for, a status stays as it is for a while
 * after it was written, or after its claim was made: what comes between the beginning of an import and its end is over before
 * anybody has read it. With 2,000 at once that is two patches and an event less for each.
 *
 * What somebody acts on is never held back: the end, whatever is a warning (`status.ts`), and a first consumer that is waited
 * for, or no longer.
 */
import { ageMs } from "../../api/time.ts";
import type { ImportView } from "./import-view.ts";
import type { DataVolumePhase } from "./phase.ts";

const HELD_MS = 30_000;

const IN_BETWEEN: readonly string[] = ["Pending", "ImportScheduled", "ImportInProgress"];

/** How long the status may stay as it is; undefined: it is to be written now. */
export function restOfCrowdMs(view: ImportView, phase: DataVolumePhase): number | undefined {
  const { now, before, problem } = view;
  if (!now.cluster.isCrowded || problem !== undefined) return undefined;
  if (!IN_BETWEEN.includes(before.phase ?? "Pending") || !IN_BETWEEN.includes(phase)) return undefined;
  const sinceMs = sinceLastWordMs(view);
  return sinceMs >= 0 && sinceMs < HELD_MS ? HELD_MS - sinceMs : undefined;
}

/** NaN: nobody can tell. */
function sinceLastWordMs({ now: { now }, before: { conditions }, claim }: ImportView): number {
  if (conditions === undefined) return claim === undefined ? NaN : ageMs(claim, now);
  return now.getTime() - Math.max(...conditions.map(({ lastHeartbeatTime = "" }) => Date.parse(lastHeartbeatTime)));
}
