/**
 * The condition Running: what the worker does, or why there is none (contract 2.3, 5.8). It is what the claim's annotations say;
 * KubeVirt shows DataVolumeError where it is False with the reason `Error` or `ImagePullFailed`.
 */
import { parseGoBool } from "../../api/go-bool.ts";
import { ANNOTATIONS } from "../../api/names.ts";
import type { Finding } from "../condition-times.ts";
import { finding, problemIn } from "./finding.ts";
import type { ImportView } from "./import-view.ts";
import type { DataVolumePhase } from "./phase.ts";

const UNSCHEDULABLE = "Importer pod cannot be scheduled";

export function runningFinding(view: ImportView, phase: DataVolumePhase): Finding {
  const problem = problemIn("Running", view, phase);
  if (problem !== undefined) return problem;
  const { annotations } = view;
  if (parseGoBool(annotations[ANNOTATIONS.podSchedulable]) === false) {
    return finding("Running", "False", "Unschedulable", unschedulableText(view));
  }
  const reason = annotations[ANNOTATIONS.runningReason];
  const message = annotations[ANNOTATIONS.runningMessage];
  const text = annotations[ANNOTATIONS.running];
  const isRunning = text === undefined ? false : parseGoBool(text);
  if (isRunning === undefined) return finding("Running", "Unknown", reason, message);
  return finding("Running", isRunning ? "True" : "False", reason, message);
}

/** The scheduler's own words say which nodes there are and what each of them lacks. */
function unschedulableText({ now: { worker } }: ImportView): string {
  const scheduled = worker?.status?.conditions?.find(({ type }) => type === "PodScheduled");
  const words = scheduled?.status === "True" ? undefined : scheduled?.message;
  return words === undefined || words === "" ? UNSCHEDULABLE : `${UNSCHEDULABLE}: ${words}`;
}
