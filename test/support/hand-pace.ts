/**
 * A pace that waits for nothing but for what a test holds back, and tells how long it would have waited.
 */
import { setImmediate as soon } from "node:timers/promises";
import type { Pace } from "../../importer/http/pace.ts";

export interface HandPace extends Pace {
  readonly delays: readonly number[];
  /** Lets those who wait for a delay that is held back go on. */
  release(): void;
}

/** @param held delays of this length last until they are released */
export function handPace(held?: number): HandPace {
  const delays: number[] = [];
  const waiting = new Set<() => void>();
  return {
    delays,
    release: () => {
      for (const go of waiting) go();
      waiting.clear();
    },
    now: () => 1_700_000_000_000,
    ticks: () => BigInt(Math.round(delays.reduce((sum, ms) => sum + ms, 0) * 1e6)),
    random: () => 0.5,
    delay: async (ms, signal) => {
      signal.throwIfAborted();
      delays.push(ms);
      if (ms !== held) return await soon();
      await new Promise<void>((resolve, reject) => {
        waiting.add(resolve);
        signal.addEventListener("abort", () => reject(new Error("aborted")), { once: true });
      });
    },
  };
}
