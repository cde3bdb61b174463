/**
 * One pace for all connections of all threads: bytes a second that a command or a worker may take from the network.
 *
 * It is not divided: an idle thread would waste its part. All clients book their bytes in one cell of shared memory, which
 * holds the moment up to which the network is spoken for; who books bytes waits until then. The memory crosses to worker
 * threads with the rest of HttpOptions, so that their clients keep the same pace.
 */

/** Plain data for threads of this process. */
export interface RateLimit {
  /** At least 1. */
  readonly bytesPerSecond: number;
  /** One BigInt64: nanoseconds of the process's clock up to which all bytes are booked. */
  readonly booked: SharedArrayBuffer;
}

/** How much of a silence may be made up for, or the pause after each piece that is a little too long would slow all down. */
const CREDIT_NS = 100_000_000n;

/** So many pieces a second, or one of 256 KiB would come after a silence of minutes. */
const PIECES_PER_SECOND = 8;

const NS_PER_SECOND = 1e9;

export function newRateLimit(bytesPerSecond: number): RateLimit {
  return { bytesPerSecond, booked: new SharedArrayBuffer(8) };
}

/** Bytes that one read should take at most. */
export function pieceLength(limit: RateLimit): number {
  return Math.max(1, Math.floor(limit.bytesPerSecond / PIECES_PER_SECOND));
}

/**
 * Books bytes that were taken.
 * @param nowNs process.hrtime's, which is the same for all threads
 * @returns how many milliseconds to wait before they are handed on
 */
export function book(limit: RateLimit, bytes: number, nowNs: bigint): number {
  const cell = new BigInt64Array(limit.booked);
  const cost = BigInt(Math.ceil((bytes * NS_PER_SECOND) / limit.bytesPerSecond));
  for (;;) {
    const before = Atomics.load(cell, 0);
    const from = before > nowNs - CREDIT_NS ? before : nowNs - CREDIT_NS;
    if (Atomics.compareExchange(cell, 0, before, from + cost) === before) {
      return Math.max(0, Number(from + cost - nowNs) / 1e6);
    }
  }
}
