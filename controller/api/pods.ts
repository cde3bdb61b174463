/**
 * What is asked of a pod, whoever made it: whether it imports, whether it has ended, and which claims it has.
 */
import type { Pod } from "./kube.ts";
import { LABELS } from "./names.ts";

/** The value of LABELS.workerRole on pods that import. */
export const IMPORTER = "importer";

export function isWorker(pod: Pod): boolean {
  return pod.metadata.labels?.[LABELS.workerRole] === IMPORTER;
}

export function hasEnded(pod: Pod): boolean {
  const phase = pod.status?.phase;
  return phase === "Succeeded" || phase === "Failed";
}

/** Names of the claims that it mounts. */
export function mountedClaims({ spec }: Pod): readonly string[] {
  return (spec.volumes ?? []).flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? []);
}
