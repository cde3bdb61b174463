import type { KubeObject } from "./kube.ts";

/**
 * Times as the API has them in conditions, events and metadata: to the second. (Leases have microseconds.)
 */
export function timeText(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, "Z");
}

/** An object whose age is not known is new. */
export function ageMs({ metadata: { creationTimestamp } }: KubeObject, now: Date): number {
  const created = Date.parse(creationTimestamp ?? "");
  return Number.isNaN(created) ? 0 : now.getTime() - created;
}
