/**
 * What a thread has done so far. Each thread has its own row in shared memory and is the only one that writes to it, so
 * progress is read at any time without a message and without atomics; a sum that is a write behind does no harm.
 */
const COUNTERS = [
  "bytesRead",
  "reads",
  /** Requests that were made again because an answer broke off or stalled. */
  "retries",
  "bytesDecoded",
  "bytesWritten",
  "writes",
  "bytesZeroed",
  /** Reading local files. */
  "readMs",
  /** How long a thread had nothing to do because the bytes of its next job were still on their way over the network. */
  "waitMs",
  "decodeMs",
  "zeroSearchMs",
  "writeMs",
] as const;

export type Counter = (typeof COUNTERS)[number];
export type Totals = Readonly<Record<Counter, number>>;

export class Counters {
  readonly shared: SharedArrayBuffer;
  readonly #values: Float64Array;

  constructor(shared = new SharedArrayBuffer(COUNTERS.length * Float64Array.BYTES_PER_ELEMENT)) {
    this.shared = shared;
    this.#values = new Float64Array(shared);
  }

  add(counter: Counter, amount: number): void {
    const at = COUNTERS.indexOf(counter);
    this.#values[at] = (this.#values[at] ?? 0) + amount;
  }

  totals(): Totals {
    const totals: Record<string, number> = {};
    for (const [at, name] of COUNTERS.entries()) totals[name] = this.#values[at] ?? 0;
    return totals as Record<Counter, number>;
  }
}

/** The sum over all threads. */
export function sumTotals(all: readonly Counters[]): Totals {
  const sum: Record<string, number> = {};
  for (const name of COUNTERS) sum[name] = 0;
  for (const counters of all) {
    for (const [name, value] of Object.entries(counters.totals())) sum[name] = (sum[name] ?? 0) + value;
  }
  return sum as Record<Counter, number>;
}
