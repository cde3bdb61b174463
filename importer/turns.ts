/**
 * Lets timers and signals run in loops that would else never wait: bytes that are there at once, tables that name no data.
 */
import { performance } from "node:perf_hooks";
import { setImmediate as nextTurn } from "node:timers/promises";

/** How long others may be kept waiting. */
const TURN_MS = 50;

export class Turns {
  #last = performance.now();

  /** A promise to wait for when it is time for a turn; undefined until then. */
  due(): Promise<void> | undefined {
    return performance.now() - this.#last < TURN_MS ? undefined : this.#take();
  }

  async #take(): Promise<void> {
    await nextTurn();
    this.#last = performance.now();
  }
}
