/**
 * Mutexes in shared memory, for threads that patch the same sector.
 *
 * A word is 0 (free), 1 (held) or 2 (held, and somebody may be waiting). Whoever is ended while it holds a lock never frees
 * it, so nothing that runs after threads were ended may take one.
 */
const FREE = 0;
const HELD = 1;
const WAITED_FOR = 2;

/** More locks than threads by far, so that two sectors rarely share one. */
const LOCKS = 256;

export function allocateLocks(): SharedArrayBuffer {
  return new SharedArrayBuffer(LOCKS * Int32Array.BYTES_PER_ELEMENT);
}

/** Runs `body` while no other thread runs one under a lock of the same `key`, a non-negative integer. */
export function withLock<T>(locks: SharedArrayBuffer, key: number, body: () => T): T {
  const words = new Int32Array(locks);
  const at = key % words.length;
  if (Atomics.compareExchange(words, at, FREE, HELD) !== FREE) {
    while (Atomics.exchange(words, at, WAITED_FOR) !== FREE) Atomics.wait(words, at, WAITED_FOR);
  }
  try {
    return body();
  } finally {
    if (Atomics.exchange(words, at, FREE) === WAITED_FOR) Atomics.notify(words, at, 1);
  }
}
