/**
 * Ends a request that gives no byte for too long. Slow is allowed: only silence counts, and only while somebody waits.
 */

export class StallWatch {
  readonly #controller = new AbortController();
  readonly #limitMs: number;
  #timer: NodeJS.Timeout | undefined;
  #stalled = false;
  #detach: () => void;

  /** @param outer ends the request too: the caller's own signal */
  constructor(limitMs: number, outer: AbortSignal | undefined) {
    this.#limitMs = limitMs;
    const abort = () => this.abort();
    outer?.addEventListener("abort", abort, { once: true });
    this.#detach = () => outer?.removeEventListener("abort", abort);
    if (outer?.aborted === true) abort();
  }

  /** Aborts on a stall, on `abort` and with the outer signal. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get stalled(): boolean {
    return this.#stalled;
  }

  get limitMs(): number {
    return this.#limitMs;
  }

  /** From now on somebody waits for bytes. */
  start(): void {
    this.stop();
    this.#timer = setTimeout(() => {
      this.#stalled = true;
      this.abort();
    }, this.#limitMs);
  }

  /** Bytes came, or nobody waits any more. */
  stop(): void {
    clearTimeout(this.#timer);
  }

  /** The request is over, one way or the other. */
  abort(): void {
    this.stop();
    this.#detach();
    this.#controller.abort();
  }
}
