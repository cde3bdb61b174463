/**
 * What a DataVolume's conditions say: texts within their limits, and the problem of a pass where it is to be told.
 */
import type { Condition } from "../../api/cdi.ts";
import type { Finding } from "../condition-times.ts";
import { cutText } from "../cut-text.ts";
import type { ImportView } from "./import-view.ts";
import type { DataVolumePhase } from "./phase.ts";

/** Of a condition's reason and message, in bytes: the limits that Kubernetes' own conditions have. */
const MAX_REASON_LENGTH = 1024;
const MAX_MESSAGE_LENGTH = 32_768;

export function finding(type: string, status: Condition["status"], reason = "", message = ""): Finding {
  return {
    type,
    status,
    ...(reason === "" ? {} : { reason: cutText(reason, MAX_REASON_LENGTH) }),
    ...(message === "" ? {} : { message: cutText(message, MAX_MESSAGE_LENGTH) }),
  };
}

/**
 * The problem of this pass, if it is to be said in this condition. That a claim is bound is a fact; what then stops the import
 * shows in Running. An import that is over has no problems.
 */
export function problemIn(type: "Bound" | "Running", view: ImportView, phase: DataVolumePhase): Finding | undefined {
  const { problem, claimPhase } = view;
  if (problem === undefined || phase === "Succeeded" || phase === "Failed") return undefined;
  const shownIn = claimPhase === "Bound" ? "Running" : (problem.condition ?? "Bound");
  return shownIn === type ? finding(type, "False", problem.reason, problem.message) : undefined;
}
