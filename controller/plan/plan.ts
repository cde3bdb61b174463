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

/** Of volumes and of the proxy's certificates, the steps that want a change know what to do without it. */
const HANDLED_KINDS = ["PersistentVolume", "ConfigMap"];

export function planImport(observed: ObservedImport): readonly Action[] {
  const draft = new ImportDraft(observed);
  const refused = refusedChange(observed);
  if (refused === undefined) {
    for (const step of STEPS) step(draft);
  } else {
    draft.problem("ErrChangeRefused", refused, { condition: "Running" });
    planStatus(draft);
  }
  return draft.actions;
}

/**
 * What cannot be created, the step that wants it tells. While the API server refuses to change or to delete something, that is
 * told and nothing else is done: every step relies on what it asked for before.
 */
function refusedChange({ rejected }: ObservedImport): string | undefined {
  if (rejected === undefined || rejected.do === "create" || HANDLED_KINDS.includes(rejected.kind)) return undefined;
  const change = rejected.do === "patch" ? "changed" : "deleted";
  return `${rejected.kind} ${rejected.name} cannot be ${change}: ${rejected.message}`;
}
