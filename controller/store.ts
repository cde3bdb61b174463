/**
 * The objects of one kind by namespace and name, and by whatever else they are looked for (indexes), without a scan.
 */
import type { KubeObject } from "./api/kube.ts";

/** Under which values an object is found: none, one or several. */
export type Indexer<T> = (object: T) => readonly string[];

/** @param namespace undefined for objects of the whole cluster */
export function nameKey(namespace: string | undefined, name: string): string {
  return `${namespace ?? ""}/${name}`;
}

export class Store<T extends KubeObject, I extends string> {
  readonly #objects = new Map<string, T>();
  readonly #indexers: readonly (readonly [I, Indexer<T>])[];
  readonly #indexes = new Map<I, Map<string, Set<string>>>();

  constructor(indexers: Readonly<Record<I, Indexer<T>>>) {
    this.#indexers = Object.entries<Indexer<T>>(indexers) as [I, Indexer<T>][];
    for (const [name] of this.#indexers) this.#indexes.set(name, new Map());
  }

  get size(): number {
    return this.#objects.size;
  }

  get(namespace: string | undefined, name: string): T | undefined {
    return this.#objects.get(nameKey(namespace, name));
  }

  all(): IterableIterator<T> {
    return this.#objects.values();
  }

  by(index: I, value: string): T[] {
    const keys = this.#indexes.get(index)?.get(value);
    if (keys === undefined) return [];
    return [...keys].flatMap((key) => this.#objects.get(key) ?? []);
  }

  /** How many objects each value of an index has. */
  counts(index: I): ReadonlyMap<string, number> {
    return new Map([...(this.#indexes.get(index) ?? [])].map(([value, keys]) => [value, keys.size]));
  }

  set(object: T): void {
    const key = nameKey(object.metadata.namespace, object.metadata.name);
    const before = this.#objects.get(key);
    if (before !== undefined) this.#unindex(key, before);
    this.#objects.set(key, object);
    for (const [name, indexer] of this.#indexers) {
      const index = this.#indexes.get(name) as Map<string, Set<string>>;
      for (const value of indexer(object)) {
        const keys = index.get(value);
        if (keys === undefined) index.set(value, new Set([key]));
        else keys.add(key);
      }
    }
  }

  remove(namespace: string | undefined, name: string): void {
    const key = nameKey(namespace, name);
    const before = this.#objects.get(key);
    if (before === undefined) return;
    this.#unindex(key, before);
    this.#objects.delete(key);
  }

  #unindex(key: string, object: T): void {
    for (const [name, indexer] of this.#indexers) {
      const index = this.#indexes.get(name);
      for (const value of indexer(object)) {
        const keys = index?.get(value);
        keys?.delete(key);
        if (keys?.size === 0) index?.delete(value);
      }
    }
  }
}
