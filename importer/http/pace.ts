/**
 * Time and chance as the client sees them; a test brings its own, and waits for nothing.
 */
import { setTimeout as sleep } from "node:timers/promises";

export interface Pace {
  /** Milliseconds since 1970. */
  now(): number;
  /** Nanoseconds of a clock that never jumps, the same for all threads. */
  ticks(): bigint;
  /** In [0, 1). */
  random(): number;
  /** Waits `ms`. Rejects once `signal` aborts. */
  delay(ms: number, signal: AbortSignal): Promise<void>;
}

export const systemPace: Pace = {
  now: () => Date.now(),
  ticks: () => process.hrtime.bigint(),
  random: () => Math.random(),
  delay: async (ms, signal) => {
    await sleep(ms, undefined, { signal });
  },
};
