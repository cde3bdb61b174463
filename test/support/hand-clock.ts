/**
 * A clock that a test moves by hand: what waits for a time runs when the test gets there, however slow the machine is.
 */
import type { Clock } from "../../controller/queue.ts";

export interface HandClock extends Clock {
  /** What is due by then runs, in its order. */
  advance(ms: number): void;
  /** To what is due next. @returns how long that was away; undefined: nothing waits */
  advanceToNext(): number | undefined;
}

export function handClock(): HandClock {
  let time = Date.now();
  const timers = new Set<{ readonly at: number; readonly run: () => void }>();
  const advance = (ms: number): void => {
    time += ms;
    const due = [...timers].filter(({ at }) => at <= time).sort((a, b) => a.at - b.at);
    for (const timer of due) if (timers.delete(timer)) timer.run();
  };
  return {
    now: () => time,
    after: (ms, run) => {
      const timer = { at: time + ms, run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    advance,
    advanceToNext: () => {
      if (timers.size === 0) return undefined;
      const ms = Math.min(...[...timers].map(({ at }) => at)) - time;
      advance(ms);
      return ms;
    },
  };
}
