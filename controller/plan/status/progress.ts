/**
 * Progress and restarts of a DataVolume (contract 2.4). Both come from annotations or from a worker's page, so only what has
 * their form is taken.
 */
import { ANNOTATIONS } from "../../api/names.ts";
import type { ImportView } from "./import-view.ts";
import type { DataVolumePhase } from "./phase.ts";

const UNKNOWN = "N/A";
const DONE = "100.0%";

const PROGRESS = /^\d{1,3}(?:\.\d{1,2})?%$/;

/** A worker that starts again every second has not got there in thirty years. */
const RESTARTS = /^\d{1,9}$/;

/** @returns undefined while there is no claim that it could be of */
export function progressOf(view: ImportView, phase: DataVolumePhase): string | undefined {
  const { claim, path, before, annotations, now } = view;
  if (claim === undefined) return before.progress;
  if (phase === "Succeeded" && (path !== "none" || view.isPrePopulated)) return DONE;
  if (path === "populator") return progressIn(annotations[ANNOTATIONS.populatorProgress]) ?? UNKNOWN;
  return progressIn(now.progress) ?? progressIn(before.progress) ?? UNKNOWN;
}

/** Undefined: none, which is how it is written. */
export function restartsOf({ annotations, claim, before }: ImportView): number | undefined {
  if (claim === undefined) return before.restartCount;
  const text = annotations[ANNOTATIONS.podRestarts] ?? "";
  const restarts = RESTARTS.test(text) ? Number(text) : 0;
  return restarts === 0 ? undefined : restarts;
}

function progressIn(text: string | undefined): string | undefined {
  return text !== undefined && PROGRESS.test(text) ? text : undefined;
}
