/**
 * From the end of a worker until its volume is the target's is a moment, which is over before anybody has read of it. The
 * DataVolume goes on saying what it said, unless something is wrong, or the moment gets long.
 */
import { claimToFill, isFilled } from "../claim-to-fill.ts";
import { restSinceEndMs } from "../worker/running-state.ts";
import type { ImportView } from "./import-view.ts";

const MOMENT_MS = 5_000;

/** How long the status may stay as it is; undefined: there is something to say. */
export function restOfMomentMs({ now, before, path, claimPhase, problem }: ImportView): number | undefined {
  if (path !== "populator" || claimPhase !== "Pending" || problem !== undefined || before.phase === undefined) {
    return undefined;
  }
  const prime = claimToFill(now);
  if (prime === undefined || !isFilled(prime) || now.worker === undefined) return undefined;
  return restSinceEndMs(now.worker, now.now, MOMENT_MS);
}
