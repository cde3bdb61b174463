/** What a Map and a Set of these have in common. */
interface Remembered<K> {
  readonly size: number;
  keys(): Iterable<K>;
  delete(key: K): boolean;
}

/** Forgets what was added first, until at most so many are left. */
export function keepNewest<K>(remembered: Remembered<K>, atMost: number): void {
  for (const key of remembered.keys()) {
    if (remembered.size <= atMost) return;
    remembered.delete(key);
  }
}
