/**
 * The plan of one import: a pure function from what was observed to what to do about it. Nothing is remembered between two
 * plans; a controller that was killed after any action starts from what it finds.
 */
import type { Action } from "./action.ts";
import { ImportDraft } from "./draft.ts";
import { planHandover } from "./handover/handover.ts";
import type { ObservedImport } from "./observed.ts";
import { planPrime } from "./prime/prime.ts";
import { planStatus } from "./status/status.ts";
import { planTarget } from "./target/target.ts";
import { planWorker } from "./worker/plan-worker.ts";

/** Each looks at what the ones before it leave behind. */
const STEPS: readonly ((draft: ImportDraft) => void)[] = [planTarget, planPrime, planWorker, planHandover, planStatus];

export function planImport(observed: ObservedImport): readonly Action[] {
  const draft = new ImportDraft(observed);
  for (const step of STEPS) step(draft);
  return draft.actions;
}
