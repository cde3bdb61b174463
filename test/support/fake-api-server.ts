/**
 * A small Kubernetes API over real HTTP: lists in pages, watches with bookmarks of the past, creates, merge patches and deletions
 * with preconditions, status subresources, resourceVersions, finalizers. Objects of any kind are taken as they come.
 *
 * It is what the controller's tests speak to when they have to stop between any two calls, or to refuse one; whether a real API
 * server behaves like this is what test/cluster shows. Nothing happens by itself here: fake-nodes.ts plays the rest of a cluster.
 */
import { randomUUID } from "node:crypto";
import http from "node:http";
import type { AddressInfo } from "node:net";
import type { Connection } from "../../controller/cluster.ts";
import type { KubeObject, ObjectMeta } from "../../controller/api/kube.ts";
import {
  CACHED_KINDS,
  CONFIG_MAP,
  CUSTOM_RESOURCE_DEFINITION,
  EVENT,
  kindOf,
  LEASE,
} from "../../controller/api/kinds.ts";
import type { Kind } from "../../controller/api/kinds.ts";
import { applyPatch } from "../../controller/plan/draft.ts";

/** Anything: tests look into objects of all kinds. */
export type Stored = KubeObject & Record<string, any>;

export interface Call {
  readonly verb: "list" | "watch" | "get" | "create" | "patch" | "delete";
  readonly kind: string;
  readonly name: string;
  /** Of a creation or a patch. */
  readonly body: Stored | undefined;
  /** It left the object as it was. */
  isEmpty?: boolean;
}

export interface Refusal {
  readonly status: number;
  readonly reason: string;
  readonly message: string;
}

interface Change {
  readonly version: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: Stored;
}

const KINDS: readonly Kind[] = [...Object.values(CACHED_KINDS), EVENT, LEASE, CONFIG_MAP, CUSTOM_RESOURCE_DEFINITION];
const WITH_STATUS: ReadonlySet<string> = new Set(["DataVolume", "StorageProfile", "PersistentVolumeClaim", "Pod"]);
const PATH = /^\/(?:api\/v1|apis\/([^/]+\/[^/]+))(?:\/namespaces\/([^/]+))?\/([a-z]+)(?:\/([^/]+))?(?:\/(status))?$/;

export class FakeApiServer {
  /** What was asked for, in its order, without the watches. */
  readonly calls: Call[] = [];
  /** Answers instead of the server. */
  refuse: (call: Call) => Refusal | undefined = () => undefined;
  /** Every answer waits for it. */
  hold: ((method: string, kind: string) => Promise<void>) | undefined;
  /** Finalizers of new objects, as admission adds them. */
  finalizersOf: (kind: string) => readonly string[] | undefined = () => undefined;
  /** Told of every change. */
  onChange: (object: Stored, isGone: boolean) => void = () => undefined;
  readonly #objects = new Map<string, Stored>();
  readonly #changes = new Map<string, Change[]>();
  readonly #watchers = new Set<(kind: string, change: Change) => void>();
  readonly #server = http.createServer((request, response) => void this.#serve(request, response));
  /** Changes before it are forgotten: a watch from there has expired. */
  #oldest = 0;
  #version = 100;

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  /** As a controller connects to it. */
  connect(): Connection {
    return connectionTo(this.#server);
  }

  all(kind: string): Stored[] {
    return [...this.#objects.values()].filter((one) => one.kind === kind);
  }

  find(kind: string, name: string, namespace?: string): Stored | undefined {
    return this.all(kind).find(({ metadata }) => metadata.name === name && metadata.namespace === namespace);
  }

  /** Every connection breaks, and what changed before now is forgotten. */
  forgetThePast(): void {
    this.#oldest = this.#version;
    this.#server.closeAllConnections();
  }

  create(given: KubeObject): Stored {
    const kind = kindOf(given);
    const stamp = { uid: randomUUID(), creationTimestamp: new Date().toISOString().replace(/\.\d+Z$/, "Z") };
    const { status, ...rest } = structuredClone(given) as Stored;
    const finalizers = given.metadata.finalizers ?? this.finalizersOf(kind.kind);
    const metadata = { ...given.metadata, ...stamp, ...(finalizers === undefined ? {} : { finalizers }) };
    const object: Stored = { ...rest, metadata };
    if (!WITH_STATUS.has(kind.kind) && status !== undefined) object["status"] = status;
    if (kind.kind === "Pod" || kind.kind === "PersistentVolumeClaim") object["status"] = { phase: "Pending" };
    if (this.#objects.has(keyOf(object))) throw refusalError(409, "AlreadyExists", `${given.metadata.name} exists`);
    return this.#store("ADDED", object);
  }

  /** @throws Refused for a precondition that does not hold */
  patch(found: Stored, patch: Record<string, unknown>, subresource?: string): Stored {
    const wanted = (patch["metadata"] ?? {}) as Partial<ObjectMeta>;
    const { uid, resourceVersion } = found.metadata;
    if (wanted.uid !== undefined && wanted.uid !== uid) throw refusalError(409, "Conflict", "another UID");
    if (wanted.resourceVersion !== undefined && wanted.resourceVersion !== resourceVersion) {
      throw refusalError(409, "Conflict", "the object has been modified");
    }
    const hasStatus = WITH_STATUS.has(found.kind);
    const { status, metadata, ...rest } = patch;
    const given = subresource === "status" ? { status } : { ...rest, metadata, ...(hasStatus ? {} : { status }) };
    const defined = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
    const changed = withoutEmpty(applyPatch(found, defined));
    const after: Stored = { ...changed, metadata: { ...changed.metadata, resourceVersion: resourceVersion ?? "" } };
    if (JSON.stringify(sorted(after)) === JSON.stringify(sorted(found))) return found;
    if (after.metadata.deletionTimestamp !== undefined && (after.metadata.finalizers ?? []).length === 0) {
      return this.#remove(after);
    }
    return this.#store("MODIFIED", after);
  }

  /** For whatever plays a part of Kubernetes: status and all. */
  update(found: Stored, change: Record<string, unknown>): Stored {
    return this.#store("MODIFIED", applyPatch(found, change));
  }

  /** @returns what is left of it */
  delete(found: Stored): Stored | undefined {
    const { finalizers = [], deletionTimestamp } = found.metadata;
    if (finalizers.length === 0) {
      this.#remove(found);
      return undefined;
    }
    if (deletionTimestamp !== undefined) return found;
    return this.update(found, { metadata: { deletionTimestamp: new Date().toISOString() } });
  }

  #remove(object: Stored): Stored {
    this.#objects.delete(keyOf(object));
    return this.#announce("DELETED", object);
  }

  #store(type: "ADDED" | "MODIFIED", object: Stored): Stored {
    const stored = this.#announce(type, object);
    this.#objects.set(keyOf(stored), stored);
    this.onChange(stored, false);
    return stored;
  }

  #announce(type: Change["type"], object: Stored): Stored {
    const version = ++this.#version;
    const stored: Stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
    const change = { version, type, object: stored };
    const changes = this.#changes.get(object.kind);
    if (changes === undefined) this.#changes.set(object.kind, [change]);
    else changes.push(change);
    for (const watcher of this.#watchers) watcher(object.kind, change);
    if (type === "DELETED") this.onChange(stored, true);
    return stored;
  }

  async #serve(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const send = (status: number, body: object): void => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
    try {
      const url = new URL(request.url ?? "", "http://fake");
      const [, version = "v1", namespace, plural, name, subresource] = PATH.exec(url.pathname) ?? [];
      const kind = KINDS.find((one) => one.plural === plural && one.apiVersion === version);
      if (kind === undefined) throw refusalError(404, "NotFound", `no such resource: ${url.pathname}`);
      const body = await readBody(request);
      if (this.hold !== undefined) await this.hold(request.method ?? "", kind.kind);
      if (name === undefined && request.method === "GET") return this.#serveMany(kind, namespace, url, response, send);
      const call: Call = {
        verb: VERBS[request.method ?? ""] ?? "get",
        kind: kind.kind,
        name: name ?? body?.metadata.name ?? "",
        body,
      };
      this.calls.push(call);
      const refusal = this.refuse(call);
      if (refusal !== undefined) throw refusalError(refusal.status, refusal.reason, refusal.message);
      if (call.verb === "create" && body !== undefined) return send(201, this.create(body));
      const found = this.find(kind.kind, call.name, namespace);
      if (found === undefined) throw refusalError(404, "NotFound", `${call.name} not found`);
      if (call.verb === "get") return send(200, found);
      if (call.verb === "patch" && body !== undefined) {
        const patched = this.patch(found, body, subresource);
        call.isEmpty = patched === found;
        return send(200, patched);
      }
      const asked = (body?.["preconditions"] as { readonly uid?: string } | undefined)?.uid;
      if (asked !== undefined && asked !== found.metadata.uid) throw refusalError(409, "Conflict", "another UID");
      const left = this.delete(found);
      return send(200, left ?? { kind: "Status", apiVersion: "v1", status: "Success" });
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      send(error.status, { kind: "Status", apiVersion: "v1", ...error.body });
    }
  }

  #serveMany(
    kind: Kind,
    namespace: string | undefined,
    { searchParams }: URL,
    response: http.ServerResponse,
    send: (status: number, body: object) => void,
  ): void {
    if (searchParams.get("watch") === "1")
      return this.#watch(kind, Number(searchParams.get("resourceVersion")), response);
    this.calls.push({ verb: "list", kind: kind.kind, name: "", body: undefined });
    const selected = this.all(kind.kind).filter((one) => {
      return (namespace ?? one.metadata.namespace) === one.metadata.namespace && matches(one, searchParams);
    });
    const from = Number(searchParams.get("continue") ?? 0);
    const to = from + Number(searchParams.get("limit") ?? Infinity);
    const next = to < selected.length ? { continue: String(to) } : {};
    send(200, {
      kind: `${kind.kind}List`,
      metadata: { resourceVersion: String(this.#version), ...next },
      // As in a real list: apiVersion and kind are the list's.
      items: selected.slice(from, to).map((one) => ({ ...one, apiVersion: undefined, kind: undefined })),
    });
  }

  #watch(kind: Kind, from: number, response: http.ServerResponse): void {
    response.writeHead(200, { "content-type": "application/json" });
    response.flushHeaders();
    const write = (type: string, object: object): void => void response.write(`${JSON.stringify({ type, object })}\n`);
    if (from < this.#oldest) {
      write("ERROR", { kind: "Status", code: 410, reason: "Expired", message: "too old resource version" });
      response.end();
      return;
    }
    for (const { version, type, object } of this.#changes.get(kind.kind) ?? []) if (version > from) write(type, object);
    const watcher = (of: string, { type, object }: Change): void => {
      if (of === kind.kind) write(type, object);
    };
    this.#watchers.add(watcher);
    response.on("close", () => this.#watchers.delete(watcher));
  }
}

/** Without credentials, to a server that listens. */
export function connectionTo(server: http.Server): Connection {
  const { port } = server.address() as AddressInfo;
  const agent = new http.Agent({ keepAlive: true });
  return {
    server: `http://127.0.0.1:${port}`,
    namespace: undefined,
    access: async () => ({ headers: {}, agent }),
    close: () => agent.destroy(),
  };
}

const VERBS: Readonly<Record<string, Call["verb"]>> = {
  GET: "get",
  POST: "create",
  PATCH: "patch",
  DELETE: "delete",
};

class Refused extends Error {
  readonly status: number;
  readonly body: object;

  constructor(status: number, body: object) {
    super(JSON.stringify(body));
    this.status = status;
    this.body = body;
  }
}

function refusalError(status: number, reason: string, message: string): Refused {
  return new Refused(status, { status: "Failure", code: status, reason, message });
}

function keyOf({ kind, metadata: { namespace, name } }: KubeObject): string {
  return `${kind}/${namespace ?? ""}/${name}`;
}

function matches(object: Stored, query: URLSearchParams): boolean {
  const [field = "", value] = (query.get("fieldSelector") ?? "").split("=");
  if (field === "") return true;
  const found = field
    .split(".")
    .reduce<unknown>((at, part) => (at as Record<string, unknown> | undefined)?.[part], object);
  return found === value;
}

async function readBody(request: http.IncomingMessage): Promise<Stored | undefined> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return pieces.length === 0 ? undefined : (JSON.parse(Buffer.concat(pieces).toString()) as Stored);
}

/** Kubernetes' own kinds leave out maps and lists that are empty. */
function withoutEmpty(object: Stored): Stored {
  const entries = Object.entries(object.metadata).filter(([, value]) => {
    return typeof value !== "object" || value === null || Object.keys(value).length > 0;
  });
  return { ...object, metadata: Object.fromEntries(entries) as unknown as ObjectMeta };
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  );
}
