/**
 * A clock that a test moves by hand: what waits for a time runs when the test gets there, however slow the machine is.
 */
import type { Clock } from "../../controller/queue.ts";

export interface HandClock extends Clock {
  /** What is due by then runs, in its order. */
  advance(ms: number): void;
}

export function handClock(start = Date.now()): HandClock {
  let time = start;
  const timers = new Set<{ readonly at: number; readonly run: () => void }>();
  return {
    now: () => time,
    after: (ms, run) => {
      const timer = { at: time + ms, run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    advance: (ms) => {
      time += ms;
      const due = [...timers].filter(({ at }) => at <= time).sort((a, b) => a.at - b.at);
      for (const timer of due) if (timers.delete(timer)) timer.run();
    },
  };
}
