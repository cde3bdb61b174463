/**
 * Why no worker was started, or none goes on: kept in the claim's annotations for the condition Running, and told once as an
 * event where the claim has no DataVolume that speaks for it.
 */
import type { Claim } from "../../api/kube.ts";
import { annotationsOf } from "../draft.ts";
import type { ImportDraft, MapChange } from "../draft.ts";
import { tell } from "../telling.ts";
import { runningAnnotations } from "./running-state.ts";
import type { RunningState } from "./running-state.ts";

/**
 * Writes a state of the import to its claim.
 * @param event reason of a Warning, told where the state is news; undefined: nothing to warn of
 */
export function noteState(
  draft: ImportDraft,
  claim: Claim,
  state: RunningState,
  { event, ...more }: { readonly event?: string; readonly annotations?: MapChange } = {},
): void {
  const before = annotationsOf(claim);
  const running = runningAnnotations(state);
  const isNews = Object.entries(running).some(([name, value]) => before[name] !== value);
  draft.annotate(claim, { ...more.annotations, ...running });
  if (event !== undefined && isNews) tell(draft, draft.now.target ?? claim, "Warning", event, state.message);
}
