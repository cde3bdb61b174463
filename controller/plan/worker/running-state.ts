/**
 * What the containers of a worker pod are doing, as the three annotations that become a DataVolume's condition Running
 * (contract 5.8). KubeVirt reads the reasons, people the messages.
 */
import { MAX_MESSAGE_LENGTH } from "../../../importer/termination.ts";
import type { ContainerStatus, ContainerTermination, Pod } from "../../api/kube.ts";
import { ANNOTATIONS } from "../../api/names.ts";
import { cutText } from "../cut-text.ts";
import type { MapChange } from "../draft.ts";
import { parseTermination } from "./termination-message.ts";
import { WORKER_CONTAINER } from "./worker-pod.ts";

export interface RunningState {
  readonly running: boolean;
  readonly message: string;
  readonly reason: string;
}

/** In bytes. A message may be as long as what a worker says. */
const MAX_REASON_LENGTH = 256;

const PULL_FAILED = "ImagePullFailed";
const PULL_FAILURES = ["ImagePullBackOff", "ErrImagePull", "InvalidImageName"];
const PULL_FAILED_TEXT = "failed to pull image";

const BACK_OFF = "CrashLoopBackOff";

/** All of them mean one thing, for which programs know one text. */
const TOO_SMALL_TEXTS = [
  "is larger than the reported available",
  "no space left on device",
  "file largest block is bigger than maxblock",
  "disk quota exceeded",
];
const TOO_SMALL = "DataVolume too small to contain image";

export const COMPLETE = "Import Complete";

/** Undefined: nothing is known that was not known before. */
export function runningState(pod: Pod): RunningState | undefined {
  const statuses = pod.status?.containerStatuses ?? [];
  const init = pod.status?.initContainerStatuses ?? [];
  const unpulled = [...init, ...statuses].find(failsToPull);
  if (unpulled !== undefined) return stopped(PULL_FAILED, `${PULL_FAILED_TEXT}: ${imageOf(pod, unpulled)}`);
  if (statuses.length === 0) return undefined;
  if (statuses.every(({ state }) => state?.running !== undefined)) {
    return { running: true, message: "", reason: "Pod is running" };
  }
  const worker = workerStatus(pod);
  const { waiting, terminated } = worker?.state ?? {};
  if (terminated !== undefined) return terminatedState(terminated);
  if (waiting === undefined) return undefined;
  if (waiting.reason === BACK_OFF) {
    const before = worker?.lastState?.terminated;
    return before === undefined ? undefined : terminatedState(before);
  }
  return stopped(waiting.reason ?? "", simplified(waiting.message ?? ""));
}

export function terminatedState(terminated: ContainerTermination): RunningState {
  const { exitCode, message = "" } = terminated;
  const reason = terminated.reason ?? (exitCode === 0 ? "Completed" : "Error");
  const said = exitCode === 0 ? parseTermination(message) : undefined;
  // A blank device has nothing to say.
  if (exitCode === 0 && (said !== undefined || message === "")) return stopped(reason, said?.message ?? COMPLETE);
  if (message === "") return stopped(reason, `the worker ended with exit status ${exitCode} and without a word`);
  return stopped(message.includes(PULL_FAILED_TEXT) ? PULL_FAILED : reason, simplified(message));
}

export function stopped(reason: string, message: string): RunningState {
  const line = message.replaceAll(/[\r\n]+/g, " ").trim();
  return {
    running: false,
    message: cutText(line, MAX_MESSAGE_LENGTH),
    reason: cutText(reason, MAX_REASON_LENGTH),
  };
}

export function runningAnnotations({ running, message, reason }: RunningState): MapChange {
  return {
    [ANNOTATIONS.running]: String(running),
    [ANNOTATIONS.runningMessage]: message,
    [ANNOTATIONS.runningReason]: reason,
  };
}

/** The kubelet sorts them by name, but a stranger's kubelet may not. */
export function workerStatus(pod: Pod): ContainerStatus | undefined {
  return pod.status?.containerStatuses?.find(({ name }) => name === WORKER_CONTAINER);
}

/**
 * Of so many milliseconds from the worker's end on, how many are left; undefined: none, or it has not ended. A node whose clock
 * is far from ours says nothing about it.
 */
export function restSinceEndMs(pod: Pod, now: Date, lengthMs: number): number | undefined {
  const finishedAt = Date.parse(workerStatus(pod)?.state?.terminated?.finishedAt ?? "");
  const ageMs = now.getTime() - finishedAt;
  return Math.abs(ageMs) < lengthMs ? lengthMs - ageMs : undefined;
}

function failsToPull({ state, started }: ContainerStatus): boolean {
  const reason = state?.waiting?.reason;
  return started !== true && reason !== undefined && PULL_FAILURES.includes(reason);
}

function imageOf({ spec }: Pod, { name, image }: ContainerStatus): string {
  const container = [...(spec.initContainers ?? []), ...spec.containers].find((one) => one.name === name);
  return container?.image ?? image ?? "";
}

/** CDI says no more than that a volume is too small; a worker of ours says by how much, and what would do. */
export function simplified(text: string): string {
  return TOO_SMALL_TEXTS.some((known) => text.includes(known)) ? `${TOO_SMALL}: ${text}` : text;
}
