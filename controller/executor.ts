/**
 * Does what a plan asks for, in its order, and stops at the first action that fails: the next plan starts from what is then
 * there. What the API server answers goes into the cache at once, so that the next plan sees it.
 */
import type { ApiClient } from "./api-client.ts";
import { ApiError } from "./api-error.ts";
import { kindOf } from "./api/kinds.ts";
import type { KubeObject } from "./api/kube.ts";
import type { ClusterCache } from "./cache.ts";
import type { EventWriter } from "./event-writer.ts";
import type { Action } from "./plan/action.ts";
import type { Rejection } from "./plan/observed.ts";

export interface ExecutorOptions {
  readonly client: ApiClient;
  readonly cache: ClusterCache;
  readonly events: Pick<EventWriter, "write">;
}

export type Execution =
  /** @param againAfterMs the soonest that the plan asked for */
  | { readonly end: "done"; readonly againAfterMs: number | undefined }
  /** Somebody else was quicker: what is there now asks for another plan. */
  | { readonly end: "outdated" }
  | { readonly end: "rejected"; readonly rejection: Rejection }
  | { readonly end: "failed"; readonly error: unknown };

type Change = Exclude<Action, { do: "event" | "again" }>;

/**
 * @param refused what the API server would only refuse again: it is not asked for
 */
export async function execute(
  actions: readonly Action[],
  options: ExecutorOptions,
  refused?: Rejection,
): Promise<Execution> {
  let againAfterMs: number | undefined;
  for (const [index, action] of actions.entries()) {
    if (action.do === "again") {
      againAfterMs = Math.min(againAfterMs ?? Infinity, action.afterMs);
    } else if (action.do === "event") {
      await options.events.write(action, index);
    } else {
      if (refused !== undefined && isOf(refused, action)) return { end: "rejected", rejection: refused };
      try {
        const stranger = await change(action, options);
        if (stranger !== undefined) return { end: "rejected", rejection: stranger };
      } catch (error) {
        return endOf(error, action);
      }
    }
  }
  return { end: "done", againAfterMs };
}

/** @returns why it could not be done, where the API server itself has nothing against it */
async function change(action: Change, options: ExecutorOptions): Promise<Rejection | undefined> {
  const { client, cache } = options;
  if (action.do === "create") return await create(action.object, options);
  if (action.do === "delete") {
    await remove(action, client, cache);
  } else {
    const { object, patch, uid, resourceVersion, subresource } = action;
    cache.apply(await client.patch(object, patch, { uid, resourceVersion }, subresource));
  }
  return undefined;
}

/** A fixed name: what exists already was made before, by us or by somebody else, who may not even be in the cache. */
async function create(object: KubeObject, { client, cache }: ExecutorOptions): Promise<Rejection | undefined> {
  try {
    cache.apply(await client.create(object));
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError && error.alreadyExists)) throw error;
  }
  const { kind, metadata } = object;
  const found = await client.get(kindOf(object), metadata.name, metadata.namespace);
  cache.apply(found);
  if (isOfSameOwner(found, object)) return undefined;
  const message = `${kind} ${metadata.name} exists and is not of this import: delete it, so that it can be made`;
  return { do: "create", kind, name: metadata.name, reason: "AlreadyExists", message };
}

/** Where an object is to have an owner. */
function isOfSameOwner(found: KubeObject, { metadata: { ownerReferences = [] } }: KubeObject): boolean {
  const owners = (found.metadata.ownerReferences ?? []).map(({ uid }) => uid);
  return ownerReferences.every(({ uid }) => owners.includes(uid));
}

async function remove(action: Extract<Action, { do: "delete" }>, client: ApiClient, cache: ClusterCache) {
  const { object, uid } = action;
  const { apiVersion, kind, namespace, name } = object;
  const gone: KubeObject = {
    apiVersion,
    kind,
    metadata: { name, uid, ...(namespace === undefined ? {} : { namespace }) },
  };
  try {
    const left = await client.delete(object, { uid });
    if (left === undefined) cache.forget(gone);
    else cache.apply(left);
  } catch (error) {
    // A conflict says that another object has the name by now.
    if (!(error instanceof ApiError && (error.isNotFound || error.isConflict))) throw error;
    cache.forget(gone);
  }
}

function endOf(error: unknown, action: Change): Execution {
  if (!(error instanceof ApiError)) return { end: "failed", error };
  if (error.isConflict || error.isNotFound) return { end: "outdated" };
  if (!error.isRefusal) return { end: "failed", error };
  const { kind, name } = subjectOf(action);
  const { reason, message } = error;
  return { end: "rejected", rejection: { do: action.do, kind, name, reason, message } };
}

function subjectOf(action: Change): { readonly kind: string; readonly name: string } {
  return action.do === "create"
    ? { kind: action.object.kind, name: action.object.metadata.name }
    : { kind: action.object.kind, name: action.object.name };
}

function isOf(rejection: Rejection, action: Change): boolean {
  const { kind, name } = subjectOf(action);
  return rejection.do === action.do && rejection.kind === kind && rejection.name === name;
}
