/**
 * Writes events. What is said of an object again, word for word, is counted in the event that said it first, as kubectl
 * expects: `x4 over 2m`. An event that cannot be written holds nothing up: it only tells. Warnings are in the log too, where an
 * administrator looks.
 */
import type { ApiClient } from "./api-client.ts";
import { ApiError } from "./api-error.ts";
import { EVENT } from "./api/kinds.ts";
import { timeText } from "./api/time.ts";
import { keepNewest } from "./keep-newest.ts";
import type { Log } from "./log.ts";
import { keyOf } from "./plan/action.ts";
import type { Action, ObjectKey } from "./plan/action.ts";
import { cutText } from "./plan/cut-text.ts";

export type EventAction = Extract<Action, { do: "event" }>;

export interface EventWriterOptions {
  readonly client: Pick<ApiClient, "create" | "patch">;
  readonly log: Log;
  readonly now: () => Date;
  /** Of the replica that reports events. */
  readonly identity: string;
}

interface Said {
  readonly event: ObjectKey;
  readonly uid: string;
  readonly count: number;
}

const SOURCE = "decant-controller";
/** In bytes: what the API has room for. */
const MAX_MESSAGE = 1024;
const MAX_NAME_CHARACTERS = 253;
/** Only what was said lately is said again; each is 1 kB at most. */
const MOST_REMEMBERED = 1_000;

export class EventWriter {
  readonly #options: EventWriterOptions;
  /** By what it says of which object; what was said last comes last. */
  readonly #said = new Map<string, Said>();

  constructor(options: EventWriterOptions) {
    this.#options = options;
  }

  /** @param index its place in the plan: events of one plan share a millisecond */
  async write(action: EventAction, index: number): Promise<void> {
    const { log } = this.#options;
    const message = cutText(action.message, MAX_MESSAGE);
    const { kind, metadata } = action.on;
    const { type, reason } = action;
    if (type === "Warning") {
      log.info("a warning is told", { kind, namespace: metadata.namespace, name: metadata.name, reason, message });
    }
    const key = JSON.stringify([metadata.uid ?? metadata.name, type, reason, message]);
    const before = this.#said.get(key);
    this.#said.delete(key);
    try {
      const event = (await this.#repeat(before)) ?? (await this.#create(action, message, index));
      if (event !== undefined) this.#remember(key, event);
    } catch (error) {
      log.warn("cannot write an event", { reason, error });
    }
  }

  /** @returns undefined if it was not said before, or is gone: events are kept for an hour */
  async #repeat(before: Said | undefined): Promise<Said | undefined> {
    if (before === undefined) return undefined;
    const { client, now } = this.#options;
    const { event, uid } = before;
    const count = before.count + 1;
    try {
      await client.patch(event, { count, lastTimestamp: timeText(now()) }, { uid });
      return { ...before, count };
    } catch (error) {
      if (error instanceof ApiError && (error.isNotFound || error.isConflict)) return undefined;
      throw error;
    }
  }

  async #create({ on, type, reason }: EventAction, message: string, index: number): Promise<Said | undefined> {
    const { client, identity } = this.#options;
    const now = this.#options.now();
    const { name, namespace, uid, resourceVersion } = on.metadata;
    const time = timeText(now);
    const event = {
      apiVersion: EVENT.apiVersion,
      kind: EVENT.kind,
      metadata: { namespace: namespace ?? "default", name: eventName(name, now, index) },
      involvedObject: { apiVersion: on.apiVersion, kind: on.kind, namespace, name, uid, resourceVersion },
      type,
      reason,
      message,
      source: { component: SOURCE },
      reportingComponent: SOURCE,
      reportingInstance: identity,
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
    };
    const created = await client.create(event);
    const createdUid = created.metadata.uid;
    return createdUid === undefined ? undefined : { event: keyOf(created), uid: createdUid, count: 1 };
  }

  #remember(key: string, event: Said): void {
    this.#said.set(key, event);
    keepNewest(this.#said, MOST_REMEMBERED);
  }
}

function eventName(name: string, now: Date, index: number): string {
  const suffix = `.${now.getTime().toString(16)}${index.toString(16).padStart(3, "0")}`;
  return `${name.slice(0, MAX_NAME_CHARACTERS - suffix.length)}${suffix}`;
}
