/**
 * How a worker pod ended, if it did: what the containers' states and the termination message amount to (contract 5.7). Only
 * what another pod, or none at all, has to follow is an ending; a container that the kubelet starts again has not ended.
 */
import type { ContainerTermination, Pod } from "../../api/kube.ts";
import { SCRATCH_VOLUME } from "./worker-pod.ts";
import { workerStatus } from "./running-state.ts";
import { isCutOff, parseTermination } from "./termination-message.ts";

export type Ending =
  | { readonly how: "complete" }
  /** The next pod is to have scratch space. */
  | { readonly how: "scratch" }
  /** The next pod is to write past the page cache. */
  | { readonly how: "out of memory"; readonly terminated: ContainerTermination }
  /** No other pod would do better. */
  | { readonly how: "terminal"; readonly code: string; readonly message: string; readonly isChecksum: boolean }
  /** Evicted, or refused by its node: the pod is over, the import is not. */
  | { readonly how: "failed"; readonly reason: string; readonly message: string };

/** In the message of a worker, ours or CDI's. */
const CHECKSUM_TEXT = "checksum mismatch";
const CHECKSUM_CODE = "SOURCE_CHECKSUM";
const UNKNOWN_CODE = "INTERNAL";

const OUT_OF_MEMORY = "OOMKilled";

export function endingOf(pod: Pod): Ending | undefined {
  const worker = workerStatus(pod);
  const terminated = worker?.state?.terminated;
  if (terminated?.exitCode === 0) {
    const said = parseTermination(terminated.message);
    const { message = "", code, terminal = false } = said ?? {};
    const isChecksum = said !== undefined && (code === CHECKSUM_CODE || message.includes(CHECKSUM_TEXT));
    if (isChecksum || terminal) return { how: "terminal", code: code ?? UNKNOWN_CODE, message, isChecksum };
    if (said?.scratchSpaceRequired === true) return asksForScratch(pod);
    if (isCutOff(terminated.message)) return unclear(terminated.message);
  }
  const killed = [terminated, worker?.lastState?.terminated].find((one) => one?.reason === OUT_OF_MEMORY);
  // A second time it is the kubelet's to start it again, after a while.
  if (killed !== undefined && !writesPastCache(pod)) return { how: "out of memory", terminated: killed };
  const { phase, reason, message } = pod.status ?? {};
  if (phase === "Succeeded") return { how: "complete" };
  if (phase !== "Failed") return undefined;
  return {
    how: "failed",
    reason: reason || terminated?.reason || "Error",
    message: message || terminated?.message || `pod ${pod.metadata.name} failed`,
  };
}

export function hasScratch({ spec }: Pod): boolean {
  return spec.volumes?.some(({ name }) => name === SCRATCH_VOLUME) === true;
}

/** Only whole words are taken for a success. */
function unclear(words = ""): Ending {
  const message = `the worker's message is cut off, so that it is not known whether the disk is whole: ${words}`;
  return { how: "terminal", code: UNKNOWN_CODE, message, isChecksum: words.includes(CHECKSUM_TEXT) };
}

/** It cannot help to give it again. */
function asksForScratch(pod: Pod): Ending {
  if (!hasScratch(pod)) return { how: "scratch" };
  const message = "the worker asked for scratch space, although it had some";
  return { how: "terminal", code: UNKNOWN_CODE, message, isChecksum: false };
}

function writesPastCache({ spec: { containers } }: Pod): boolean {
  return containers.some(({ env = [] }) => env.some(({ name, value }) => name === "CACHE_MODE" && value === "TRYNONE"));
}
