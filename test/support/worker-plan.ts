/**
 * Runs the worker's step of a plan over objects of an import, and says what it came to: the tests of controller/plan/worker
 * differ in what they put in.
 */
import type { Claim, ContainerStatus, Pod } from "../../controller/api/kube.ts";
import { ANNOTATIONS } from "../../controller/api/names.ts";
import type { Action } from "../../controller/plan/action.ts";
import { claimToFill } from "../../controller/plan/claim-to-fill.ts";
import { annotationsOf, ImportDraft } from "../../controller/plan/draft.ts";
import type { Problem } from "../../controller/plan/draft.ts";
import type { ObservedImport } from "../../controller/plan/observed.ts";
import { planWorker } from "../../controller/plan/worker/plan-worker.ts";
import { claim, observed, outline, pod, populatedClaim, primeOf } from "./observed-import.ts";

export interface WorkerPlan {
  readonly actions: readonly Action[];
  readonly outline: readonly string[];
  readonly after: ObservedImport;
  /** Annotations of the claim to fill, as the plan leaves them. */
  readonly annotations: Readonly<Record<string, string>>;
  /** What of them the plan changes: undefined is removed. */
  readonly changed: Readonly<Record<string, string | undefined>>;
  readonly problem: Problem | undefined;
}

type Objects = Parameters<typeof observed>[0];

export function planWith(objects: Objects): WorkerPlan {
  const before = observed(objects);
  const draft = new ImportDraft(before);
  planWorker(draft);
  const old = annotationsOf(claimToFill(before));
  const annotations = annotationsOf(claimToFill(draft.now));
  const names = new Set([...Object.keys(old), ...Object.keys(annotations)]);
  const changes = [...names].filter((name) => old[name] !== annotations[name]);
  return {
    actions: draft.actions,
    outline: outline(draft.actions),
    after: draft.now,
    annotations,
    changed: Object.fromEntries(changes.map((name) => [name, annotations[name]])),
    problem: draft.foundProblem,
  };
}

const URL_ANNOTATIONS = {
  [ANNOTATIONS.importSource]: "http",
  [ANNOTATIONS.importEndpoint]: "http://images.example.org/fedora.qcow2",
} as const;

/** A target of the legacy path with an http import, bound unless the test says otherwise. */
export function legacyTarget({ annotations, ...more }: Parameters<typeof claim>[0] = {}): Claim {
  return claim({
    labels: { app: "containerized-data-importer" },
    status: { phase: "Bound" },
    ...more,
    annotations: { ...URL_ANNOTATIONS, ...annotations },
  });
}

export function populatorPair({ annotations, ...more }: Parameters<typeof claim>[0] = {}): {
  readonly target: Claim;
  readonly prime: Claim;
} {
  const target = populatedClaim();
  const prime = primeOf(target, {
    labels: { app: "containerized-data-importer" },
    status: { phase: "Bound" },
    ...more,
    annotations: { ...URL_ANNOTATIONS, [ANNOTATIONS.immediateBind]: "", ...annotations },
  });
  return { target, prime };
}

/** A pod of this claim; older than anything waits for, unless the test says otherwise. */
export function workerOf(filled: Claim, more: Parameters<typeof pod>[0] = {}): Pod {
  return pod({
    name: `importer-${filled.metadata.name}`,
    owner: filled,
    labels: { "cdi.kubevirt.io": "importer" },
    ...more,
  });
}

/** A pod whose worker is in this state. */
export function workerIn(
  filled: Claim,
  phase: NonNullable<Pod["status"]>["phase"],
  status: Partial<ContainerStatus> = {},
  more: Parameters<typeof pod>[0] = {},
): Pod {
  const container = { name: "importer", restartCount: 0, ...status };
  return workerOf(filled, {
    ...more,
    status: { ...(phase === undefined ? {} : { phase }), containerStatuses: [container] },
  });
}

/** Ended with exit 0 and this message, which is JSON unless it is a text. */
export function exitedWith(message: string | object, exitCode = 0): Partial<ContainerStatus> {
  const text = typeof message === "string" ? message : JSON.stringify(message);
  return { state: { terminated: { exitCode, reason: exitCode === 0 ? "Completed" : "Error", message: text } } };
}
