/**
 * Why a claim or a pod is still Pending, in the words of its events: what the provisioner, the scheduler or the kubelet complains
 * of. Events of a whole cluster are too many to watch, and even those of one object cost the API server a search through its
 * namespace; so they are asked for only when an object has been Pending for some seconds, then less and less often, and never
 * for many at once.
 */
import type { ApiClient } from "./api-client.ts";
import { EVENT } from "./api/kinds.ts";
import type { Claim, KubeObject, Pod } from "./api/kube.ts";
import type { Log } from "./log.ts";
import { cutText } from "./plan/cut-text.ts";

export interface PendingEventsOptions {
  readonly client: Pick<ApiClient, "list">;
  readonly log: Log;
  readonly now: () => number;
  /** See ClusterFacts. */
  readonly isCrowded: () => boolean;
}

/** What was said last. */
export interface Said {
  readonly reason: string;
  readonly message: string;
}

interface Answer {
  readonly dueAt: number;
  readonly waitMs: number;
  readonly newest: Said | undefined;
  readonly newestWarning: Said | undefined;
}

/** What is done within this time needs no explanation. */
const PATIENCE_MS = 5_000;
const PATIENCE_IN_CROWD_MS = 30_000;
const FIRST_WAIT_MS = 5_000;
const LAST_WAIT_MS = 300_000;

/** In bytes. Whoever may write events in a namespace may write long ones, and these are kept, and go into annotations. */
const MAX_REASON = 128;
const MAX_MESSAGE = 1024;

/**
 * Questions: so many at once, and then one in so long, or in so many times what the last ones took: where a namespace has
 * thousands of events a question is 80 ms of an API server that is busy, and 2,000 of them were an eighth of all it did.
 */
const BURST = 10;
const INTERVAL_MS = 200;
const PRICE = 20;
const LONGEST_INTERVAL_MS = 5_000;
/** How long one waits that found no room, where answers take long. */
const TURN_MS = 15_000;

export class PendingEvents {
  readonly #options: PendingEventsOptions;
  /** By the object's UID. */
  readonly #answers = new Map<string, Answer>();
  /** When the last of the questions so far is paid for. */
  #paidUntil = 0;
  /** For each question. */
  #intervalMs = INTERVAL_MS;

  constructor(options: PendingEventsOptions) {
    this.#options = options;
  }

  /** What is known now, without asking. */
  newest(object: Claim | Pod): Said | undefined {
    return isPending(object) ? this.#answers.get(object.metadata.uid ?? "")?.newest : undefined;
  }

  newestWarning(object: Claim | Pod): Said | undefined {
    return isPending(object) ? this.#answers.get(object.metadata.uid ?? "")?.newestWarning : undefined;
  }

  /** Asks if it is time. @returns in how many milliseconds it is time again; undefined: never */
  async refresh(object: Claim | Pod): Promise<number | undefined> {
    const { uid, creationTimestamp, deletionTimestamp } = object.metadata;
    if (uid === undefined) return undefined;
    if (!isPending(object) || deletionTimestamp !== undefined) {
      this.#answers.delete(uid);
      return undefined;
    }
    const now = this.#options.now();
    const patienceMs = this.#options.isCrowded() ? PATIENCE_IN_CROWD_MS : PATIENCE_MS;
    const dueAt = this.#answers.get(uid)?.dueAt ?? (Date.parse(creationTimestamp ?? "") || now) + patienceMs;
    if (dueAt > now) return dueAt - now;
    const isFree = this.#paidUntil <= now + BURST * INTERVAL_MS;
    if (!isFree) return this.#intervalMs === INTERVAL_MS ? FIRST_WAIT_MS : TURN_MS;
    this.#paidUntil = Math.max(this.#paidUntil, now) + this.#intervalMs;
    await this.#ask(object, uid);
    const price = (this.#options.now() - now) * PRICE;
    this.#intervalMs = Math.min(Math.max(INTERVAL_MS, price), LONGEST_INTERVAL_MS);
    return (this.#answers.get(uid)?.dueAt ?? now) - now;
  }

  /** It is gone. */
  forget(uid: string): void {
    this.#answers.delete(uid);
  }

  async #ask({ metadata: { namespace, name } }: KubeObject, uid: string): Promise<void> {
    const { client, log, now } = this.#options;
    const before = this.#answers.get(uid);
    const waitMs = before === undefined ? FIRST_WAIT_MS : Math.min(before.waitMs * 2, LAST_WAIT_MS);
    const answer = { waitMs, dueAt: now() + waitMs, newest: before?.newest, newestWarning: before?.newestWarning };
    try {
      const fieldSelector = `involvedObject.uid=${uid}`;
      const { items } = await client.list(EVENT, { ...(namespace === undefined ? {} : { namespace }), fieldSelector });
      const events = newestFirst(items);
      answer.newest = events[0];
      answer.newestWarning = events.find(({ type }) => type === "Warning");
    } catch (error) {
      log.warn("cannot list the events of an object", { namespace, name, error });
    }
    this.#answers.set(uid, answer);
  }
}

function isPending({ status }: Claim | Pod): boolean {
  return status?.phase === "Pending";
}

interface Event extends KubeObject {
  readonly type?: unknown;
  readonly reason?: unknown;
  readonly message?: unknown;
  readonly lastTimestamp?: unknown;
  readonly eventTime?: unknown;
}

function newestFirst(events: readonly Event[]): (Said & { readonly type: unknown })[] {
  const told = events.flatMap(({ metadata, type, reason, message, lastTimestamp, eventTime }) => {
    if (typeof reason !== "string" || typeof message !== "string") return [];
    const time = [lastTimestamp, eventTime, metadata.creationTimestamp].find((one) => typeof one === "string");
    const said = { reason: cutText(reason, MAX_REASON), message: cutText(message, MAX_MESSAGE) };
    return [{ type, ...said, time: Date.parse(time ?? "") || 0 }];
  });
  return told.sort((a, b) => b.time - a.time);
}
