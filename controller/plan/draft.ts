/**
 * A plan in the making: what was observed, and what it will be once the actions so far are done. Each step of a plan looks
 * at the objects as the steps before it leave them, so that one pass takes the end of a worker all the way to the
 * DataVolume's status, with one patch for each object.
 */
import type { KubeObject, StringMap } from "../api/kube.ts";
import type { Action, MergePatch, ObjectKey } from "./action.ts";
import { keyOf } from "./action.ts";
import type { ObservedImport } from "./observed.ts";

/** The parts of an import that are objects. */
type Part = "dataVolume" | "target" | "source" | "prime" | "worker" | "scratch" | "volume";

const PARTS: readonly Part[] = ["dataVolume", "target", "source", "prime", "worker", "scratch", "volume"];

/** Changes to the annotations or labels of an object; undefined removes. */
export type MapChange = Readonly<Record<string, string | undefined>>;

/**
 * Why a DataVolume's import cannot go on, for planStatus: it becomes a condition, and a Warning event where that is new.
 * The step that reports one leaves it at that; the next change in the cluster is the next try.
 */
export interface Problem {
  readonly reason: string;
  /** A sentence for the user. */
  readonly message: string;
  /** The condition that becomes False; undefined: Bound. */
  readonly condition?: "Bound" | "Running";
  /** Of the DataVolume, where the problem decides it; undefined: as its claim says, Pending where it has none. */
  readonly phase?: string;
}

export class ImportDraft {
  #now: ObservedImport;
  #problem: Problem | undefined;
  readonly #actions: Action[] = [];

  constructor(observed: ObservedImport) {
    this.#now = observed;
  }

  /** As it was observed, and as the actions so far will have changed it. What they create has no UID yet. */
  get now(): ObservedImport {
    return this.#now;
  }

  get actions(): readonly Action[] {
    return this.#actions;
  }

  /** The first that a step reported. */
  get foundProblem(): Problem | undefined {
    return this.#problem;
  }

  /** Of several, the first counts: the later ones follow from it. */
  problem(reason: string, message: string, more: Pick<Problem, "condition" | "phase"> = {}): void {
    this.#problem ??= { reason, message, ...more };
  }

  /** @param part what it is of this import, so that later steps see it; undefined: nothing that they ask for */
  create(object: KubeObject, part?: Part): void {
    this.#actions.push({ do: "create", object });
    if (part !== undefined) this.#now = { ...this.#now, [part]: object };
  }

  delete(object: KubeObject): void {
    const { uid } = object.metadata;
    if (uid === undefined) throw new Error(`${object.kind} ${object.metadata.name} does not exist yet`);
    this.#actions.push({ do: "delete", object: keyOf(object), uid });
    const part = this.#partOf(object);
    if (part !== undefined) this.#now = { ...this.#now, [part]: undefined };
  }

  /** Sets, changes and removes annotations; those that are so already make no action. */
  annotate(object: KubeObject, change: MapChange): void {
    this.#changeMap(object, "annotations", change);
  }

  /** The same for labels. */
  label(object: KubeObject, change: MapChange): void {
    this.#changeMap(object, "labels", change);
  }

  /**
   * Any other change. An equal patch makes no action: every leaf is compared with the object.
   * @param checked with the object's resourceVersion as a precondition; never merged with other patches
   */
  patch(object: KubeObject, patch: MergePatch, { status = false, checked = false } = {}): void {
    const part = this.#partOf(object);
    // A step may still hold the object as it was before an earlier change.
    const current: KubeObject = (part === undefined ? undefined : this.#now[part]) ?? object;
    const changes = onlyChanges(current, patch);
    if (changes === undefined) return;
    const { uid, resourceVersion } = object.metadata;
    if (uid === undefined) throw new Error(`${object.kind} ${object.metadata.name} does not exist yet`);
    const key = keyOf(object);
    const earlier = checked ? -1 : this.#mergeableWith(key, status);
    const before = this.#actions[earlier];
    if (before?.do === "patch") {
      this.#actions[earlier] = { ...before, patch: joinPatches(before.patch, changes) };
    } else {
      this.#actions.push({
        do: "patch",
        object: key,
        uid,
        ...(checked && resourceVersion !== undefined ? { resourceVersion } : {}),
        ...(status ? { subresource: "status" as const } : {}),
        patch: changes,
      });
    }
    if (part !== undefined) this.#now = { ...this.#now, [part]: applyPatch(current, changes) };
  }

  event(on: KubeObject, type: "Normal" | "Warning", reason: string, message: string): void {
    this.#actions.push({ do: "event", on, type, reason, message });
  }

  again(afterMs: number): void {
    this.#actions.push({ do: "again", afterMs });
  }

  #changeMap(object: KubeObject, map: "annotations" | "labels", change: MapChange): void {
    const patch = Object.fromEntries(Object.entries(change).map(([key, value]) => [key, value ?? null]));
    this.patch(object, { metadata: { [map]: patch } });
  }

  /** The last action on this object, if it is an unchecked patch of the same part of it. */
  #mergeableWith(key: ObjectKey, status: boolean): number {
    const same = (action: Action): boolean =>
      (action.do === "patch" || action.do === "delete") && sameKey(action.object, key);
    const at = this.#actions.findLastIndex(same);
    const found = this.#actions[at];
    if (found?.do !== "patch" || found.resourceVersion !== undefined) return -1;
    return (found.subresource === "status") === status ? at : -1;
  }

  #partOf(object: KubeObject): Part | undefined {
    const key = keyOf(object);
    return PARTS.find((part) => {
      const found: KubeObject | undefined = this.#now[part];
      return found !== undefined && sameKey(keyOf(found), key);
    });
  }
}

/** Of an object that may not be there. */
export function annotationsOf(object: KubeObject | undefined): StringMap {
  return object?.metadata.annotations ?? {};
}

function sameKey(a: ObjectKey, b: ObjectKey): boolean {
  return a.kind === b.kind && a.name === b.name && a.namespace === b.namespace && a.apiVersion === b.apiVersion;
}

/** The leaves of a patch that would change something; undefined if none would. Lists are compared whole. */
export function onlyChanges(current: unknown, patch: MergePatch): MergePatch | undefined {
  const changes: Record<string, unknown> = {};
  const from = isMap(current) ? current : {};
  for (const [key, wanted] of Object.entries(patch)) {
    const found = from[key];
    if (isMap(wanted)) {
      const inner = onlyChanges(found, wanted);
      if (inner !== undefined) changes[key] = inner;
    } else if (wanted === null ? found !== undefined : !isEqual(found, wanted)) changes[key] = wanted;
  }
  return Object.keys(changes).length === 0 ? undefined : changes;
}

/** RFC 7386. */
export function applyPatch<T>(current: T, patch: MergePatch): T {
  const result: Record<string, unknown> = isMap(current) ? { ...current } : {};
  for (const [key, wanted] of Object.entries(patch)) {
    if (wanted === null) delete result[key];
    else result[key] = isMap(wanted) ? applyPatch(result[key], wanted) : wanted;
  }
  return result as T;
}

function joinPatches(first: MergePatch, second: MergePatch): MergePatch {
  const joined: Record<string, unknown> = { ...first };
  for (const [key, value] of Object.entries(second)) {
    const before = joined[key];
    joined[key] = isMap(value) && isMap(before) ? joinPatches(before, value) : value;
  }
  return joined;
}

/** A JSON object. */
export function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isEqual(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((one, at) => isEqual(one, b[at]));
  if (isMap(a) && isMap(b)) {
    const keys = Object.keys(a);
    return keys.length === Object.keys(b).length && keys.every((key) => isEqual(a[key], b[key]));
  }
  return a === b;
}
