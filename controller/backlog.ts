/**
 * How much the cluster has still to do, in each namespace, before it can run what was begun there. When thousands of imports
 * are created at once, more workers than can be placed only make everything slower: kube-controller-manager lists all pods of a
 * namespace for each claim that goes, and lists, watches and the API server's own memory grow with them. With 2,000 at once
 * and no limit, 1,500 workers waited for minutes, and 400 s were not enough; with it an import is done ten seconds after it was
 * begun, and all of them after 291 s.
 */
import type { ClusterCache } from "./cache.ts";

/** Workers that wait for a node. With 32 there was too little to do at times, with 96 no more than with 64. */
const MOST_WAITING = 64;
/** A worker that waits for longer will not be placed soon, and holds up nobody. */
const PATIENCE_MS = 30_000;
const LOOK_AGAIN_MS = 100;

export class Backlog {
  readonly #cache: ClusterCache;
  readonly #now: () => number;
  #lookedAt = -Infinity;
  /** By namespace. */
  #waiting = new Map<string, number>();

  constructor(cache: ClusterCache, now: () => number) {
    this.#cache = cache;
    this.#now = now;
  }

  /** True while nothing new should be begun there. */
  isFull(namespace: string): boolean {
    const now = this.#now();
    if (now >= this.#lookedAt + LOOK_AGAIN_MS) {
      this.#lookedAt = now;
      this.#waiting = this.#count(now);
    }
    return (this.#waiting.get(namespace) ?? 0) >= MOST_WAITING;
  }

  #count(now: number): Map<string, number> {
    const waiting = new Map<string, number>();
    for (const { metadata } of this.#cache.pods.by("workerNode", "")) {
      const { namespace = "", creationTimestamp = "" } = metadata;
      const isPatient = now - Date.parse(creationTimestamp) < PATIENCE_MS;
      if (isPatient) waiting.set(namespace, (waiting.get(namespace) ?? 0) + 1);
    }
    return waiting;
  }
}
