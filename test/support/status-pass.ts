/**
 * The status step by itself: claims as it sees them after the steps before it, and one pass over them.
 */
import type { DataVolume, DataVolumeStatus } from "../../controller/api/cdi.ts";
import type { Claim } from "../../controller/api/kube.ts";
import { ANNOTATIONS } from "../../controller/api/names.ts";
import type { Action } from "../../controller/plan/action.ts";
import { ImportDraft } from "../../controller/plan/draft.ts";
import type { Problem } from "../../controller/plan/draft.ts";
import { viewImport } from "../../controller/plan/status/import-view.ts";
import type { ImportView } from "../../controller/plan/status/import-view.ts";
import { planStatus } from "../../controller/plan/status/status.ts";
import { claim, dataVolume, observed, populatedClaim } from "./observed-import.ts";

type ClaimParts = NonNullable<Parameters<typeof claim>[0]>;

/** Made for the DataVolume of `dataVolume()`, on the legacy path. */
export function ownClaim({ annotations, ...rest }: ClaimParts = {}): Claim {
  return claim({
    owner: dataVolume(),
    annotations: { [ANNOTATIONS.createdForDataVolume]: "dv-uid", [ANNOTATIONS.importSource]: "http", ...annotations },
    ...rest,
  });
}

/** The same, on the populator path. */
export function ownPopulatedClaim({ annotations, ...rest }: ClaimParts = {}): Claim {
  return populatedClaim({
    owner: dataVolume(),
    annotations: {
      [ANNOTATIONS.createdForDataVolume]: "dv-uid",
      [ANNOTATIONS.usePopulator]: "true",
      [ANNOTATIONS.prime]: "prime-target-uid",
      ...annotations,
    },
    ...rest,
  });
}

export type Seen = Partial<Omit<Parameters<typeof observed>[0] & object, "dataVolume">>;

export function viewOf(
  seen: Seen = {},
  { problem, before }: { readonly problem?: Problem; readonly before?: DataVolumeStatus } = {},
): ImportView {
  const owner = withStatus(before);
  return viewImport(observed({ ...seen, dataVolume: owner }), owner, problem);
}

export interface Pass {
  readonly status: DataVolumeStatus;
  /** `Warning Error: sentence`, in order. */
  readonly events: readonly string[];
  readonly actions: readonly Action[];
}

export function statusPass(
  seen: Seen = {},
  { problem, before }: { readonly problem?: Problem; readonly before?: DataVolumeStatus } = {},
): Pass {
  return planStatusOf({ ...seen, dataVolume: withStatus(before) }, problem);
}

export function planStatusOf(seen: Parameters<typeof observed>[0], problem?: Problem): Pass {
  const draft = new ImportDraft(observed(seen));
  if (problem !== undefined) draft.problem(problem.reason, problem.message, problem);
  planStatus(draft);
  const events = draft.actions.flatMap((action) =>
    action.do === "event" ? [`${action.type} ${action.reason}: ${action.message}`] : [],
  );
  return { status: draft.now.dataVolume?.status ?? {}, events, actions: draft.actions };
}

function withStatus(before: DataVolumeStatus | undefined): DataVolume {
  return dataVolume(before === undefined ? {} : { status: before });
}
