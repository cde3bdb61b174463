/**
 * The verbs of the Kubernetes API over plain JSON: list in pages, watch, get, create, merge patch, delete.
 *
 * Nothing is kept or retried here, but for one fresh credential after 401. Preconditions travel in the request: a patch
 * carries the UID (and resourceVersion) that it was made for, a deletion the UID. What the server says no with is an
 * ApiError. Answers have limits; a page of a list that is too large is asked for again in smaller pages.
 */
import { ApiError, apiErrorOf, apiErrorOfStatus } from "./api-error.ts";
import { addressOf, kindOf } from "./api/kinds.ts";
import type { Kind } from "./api/kinds.ts";
import type { KubeObject } from "./api/kube.ts";
import type { Connection } from "./cluster.ts";
import { AnswerTooLarge, ask, readText } from "./http-exchange.ts";
import type { Answer } from "./http-exchange.ts";
import { jsonLines } from "./json-lines.ts";
import type { MergePatch, ObjectKey } from "./plan/action.ts";
import { isMap } from "./plan/draft.ts";

export type Verb = "get" | "list" | "watch" | "create" | "patch" | "delete";

/** What a call is about; lists and watches are about a kind only. */
export interface CallSubject {
  readonly name?: string;
  /** The object that is to be, or the patch. */
  readonly sent?: KubeObject | MergePatch;
}

/** Told of each call, before it is made: for metrics, and for tests that stop between two. */
export type CallObserver = (verb: Verb, kind: string, subject?: CallSubject) => void;

export interface ListOptions {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly signal?: AbortSignal;
}

export interface Listed {
  readonly items: readonly KubeObject[];
  /** A watch from here misses nothing. */
  readonly resourceVersion: string;
}

export interface WatchEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK";
  readonly object: KubeObject;
}

export interface Preconditions {
  readonly uid: string;
  readonly resourceVersion?: string | undefined;
}

const PAGE_OBJECTS = 250;
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;
const MAX_ERROR_BYTES = 64 * 1024;
const CALL_TIMEOUT_MS = 30_000;
/** The server ends a watch after this long, and one that still stands a while later is dead. */
const WATCH_SECONDS = 300;
const WATCH_TIMEOUT_MS = (WATCH_SECONDS + 30) * 1000;

export class ApiClient {
  readonly #connection: Connection;
  readonly #onCall: CallObserver;

  constructor(connection: Connection, onCall: CallObserver = () => undefined) {
    this.#connection = connection;
    this.#onCall = onCall;
  }

  /** @param keep what is to be kept of each object, undefined for nothing of it; so that a page is garbage at once */
  async list(
    kind: Kind,
    options: ListOptions = {},
    keep: (object: KubeObject) => KubeObject | undefined = (object) => object,
  ): Promise<Listed> {
    const items: KubeObject[] = [];
    let continueFrom = "";
    let limit = PAGE_OBJECTS;
    for (;;) {
      const query = new URLSearchParams({ limit: String(limit), ...selectors(options) });
      if (continueFrom !== "") query.set("continue", continueFrom);
      this.#onCall("list", kind.kind);
      let page: Page;
      try {
        page = await this.#json("GET", `${addressOf(kind, options.namespace)}?${query.toString()}`, options);
      } catch (error) {
        if (!(error instanceof AnswerTooLarge) || limit === 1) throw error;
        limit = Math.ceil(limit / 4);
        continue;
      }
      for (const one of Array.isArray(page.items) ? page.items : []) {
        // Objects in a list leave out what all of them share.
        const kept = isObject(one) ? keep({ ...one, apiVersion: kind.apiVersion, kind: kind.kind }) : undefined;
        if (kept !== undefined) items.push(kept);
      }
      continueFrom = page.metadata?.continue ?? "";
      if (continueFrom === "") return { items, resourceVersion: page.metadata?.resourceVersion ?? "" };
    }
  }

  /**
   * What changes from `resourceVersion` on, until the server ends it: then the caller asks again from the last one it saw.
   * @throws ApiError that `isExpired` when that is too long ago
   */
  async *watch(kind: Kind, resourceVersion: string, signal: AbortSignal): AsyncGenerator<WatchEvent> {
    const query = new URLSearchParams({
      watch: "1",
      allowWatchBookmarks: "true",
      timeoutSeconds: String(WATCH_SECONDS),
      resourceVersion,
    });
    this.#onCall("watch", kind.kind);
    const address = `${addressOf(kind)}?${query.toString()}`;
    const answer = await this.#send("GET", address, { signal, timeoutMs: WATCH_TIMEOUT_MS });
    if (!isSuccess(answer)) throw await errorOf(answer);
    for await (const line of jsonLines(answer.body)) {
      const event = line as { readonly type?: unknown; readonly object?: unknown } | null;
      if (event?.type === "ERROR") throw apiErrorOfStatus(event.object);
      const isKnown = event !== null && EVENT_TYPES.has(event.type as string) && isObject(event.object);
      if (isKnown) yield event as WatchEvent;
    }
  }

  async get(kind: Kind, name: string, namespace?: string, signal?: AbortSignal): Promise<KubeObject> {
    this.#onCall("get", kind.kind, { name });
    return (await this.#json("GET", addressOf(kind, namespace, name), { signal })) as KubeObject;
  }

  /** @returns undefined for an object that is not there */
  async find(kind: Kind, name: string, namespace?: string, signal?: AbortSignal): Promise<KubeObject | undefined> {
    try {
      return await this.get(kind, name, namespace, signal);
    } catch (error) {
      if (error instanceof ApiError && error.isNotFound) return undefined;
      throw error;
    }
  }

  async create(object: KubeObject): Promise<KubeObject> {
    this.#onCall("create", object.kind, { name: object.metadata.name, sent: object });
    const address = addressOf(kindOf(object), object.metadata.namespace);
    return (await this.#json("POST", address, { body: object, contentType: "application/json" })) as KubeObject;
  }

  /** @throws ApiError that `isConflict` if the object is another one by now, or changed where that matters */
  async patch(key: ObjectKey, patch: MergePatch, of: Preconditions, subresource?: "status"): Promise<KubeObject> {
    const version = of.resourceVersion === undefined ? {} : { resourceVersion: of.resourceVersion };
    const metadata = isMap(patch["metadata"]) ? patch["metadata"] : {};
    const body = { ...patch, metadata: { ...metadata, uid: of.uid, ...version } };
    this.#onCall("patch", key.kind, { name: key.name, sent: patch });
    const address = `${addressOf(kindOf(key), key.namespace, key.name)}${subresource === undefined ? "" : "/status"}`;
    const contentType = "application/merge-patch+json";
    return (await this.#json("PATCH", address, { body, contentType })) as KubeObject;
  }

  /**
   * @returns what is left of the object: it has a deletionTimestamp, and goes when its finalizers or its pod's processes have
   *   gone; undefined when it is gone
   */
  async delete(key: ObjectKey, of: Preconditions): Promise<KubeObject | undefined> {
    this.#onCall("delete", key.kind, { name: key.name });
    const body = {
      apiVersion: "v1",
      kind: "DeleteOptions",
      preconditions: { uid: of.uid },
      // The garbage collector takes what it owns after it.
      propagationPolicy: "Background",
    };
    const address = addressOf(kindOf(key), key.namespace, key.name);
    const left = (await this.#json("DELETE", address, { body, contentType: "application/json" })) as KubeObject;
    return left.kind === "Status" ? undefined : left;
  }

  async #json(method: string, address: string, options: SendOptions): Promise<object> {
    const answer = await this.#send(method, address, options);
    if (!isSuccess(answer)) throw await errorOf(answer);
    const parsed: unknown = JSON.parse(await readText(answer, MAX_ANSWER_BYTES));
    if (!isMap(parsed)) throw new Error(`the API server answered ${method} ${pathOf(address)} with no object`);
    return parsed;
  }

  async #send(method: string, address: string, options: SendOptions): Promise<Answer> {
    const { contentType, signal, timeoutMs = CALL_TIMEOUT_MS } = options;
    const body = options.body === undefined ? undefined : JSON.stringify(options.body);
    for (let attempt = 1; ; attempt++) {
      const { headers: given, agent } = await this.#connection.access({ fresh: attempt > 1 });
      const headers = { ...given, ...ACCEPT, ...(contentType === undefined ? {} : { "content-type": contentType }) };
      const url = `${this.#connection.server}${address}`;
      const answer = await ask({ url, method, agent, headers, body, signal, timeoutMs });
      if (answer.status !== 401 || attempt > 1) return answer;
      answer.drop();
    }
  }
}

const ACCEPT = { accept: "application/json", "user-agent": "decant-controller" } as const;

const EVENT_TYPES: ReadonlySet<string> = new Set(["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]);

interface SendOptions {
  readonly body?: object;
  readonly contentType?: string;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
}

interface Page {
  readonly items?: unknown;
  readonly metadata?: { readonly continue?: string; readonly resourceVersion?: string };
}

function selectors({ labelSelector, fieldSelector }: ListOptions): Record<string, string> {
  return {
    ...(labelSelector === undefined ? {} : { labelSelector }),
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
  };
}

function isSuccess({ status }: Answer): boolean {
  return status >= 200 && status < 300;
}

async function errorOf(answer: Answer): Promise<ApiError> {
  try {
    return apiErrorOf(answer.status, await readText(answer, MAX_ERROR_BYTES));
  } catch (error) {
    if (!(error instanceof AnswerTooLarge)) throw error;
    return apiErrorOf(answer.status, "");
  }
}

function pathOf(address: string): string {
  return address.split("?", 1)[0] ?? "";
}

/** Whatever has a name; the rest of an object is looked at by those who read it. */
function isObject(value: unknown): value is KubeObject {
  return isMap(value) && isMap(value["metadata"]) && typeof value["metadata"]["name"] === "string";
}
