/**
 * The work queue: keys that wait to be worked on, each once, however often it was added, and never by two at a time. What
 * fails is tried again, later and later; what asks for `again` comes back after that time unless it is added before.
 *
 * What is begun goes before what is new, and only few of the new are worked on at a time: when thousands are created at once,
 * each is soon done once it is begun, instead of all of them being half done for minutes.
 *
 * Time comes from outside, so that tests need not wait.
 */

export interface Clock {
  now(): number;
  /** @returns what cancels it */
  after(ms: number, run: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/** The worker's answer. A failure is one by itself or an exception. */
export type WorkResult =
  | { readonly result: "done"; readonly againAfterMs?: number | undefined }
  | { readonly result: "failed" };

export interface QueueOptions {
  readonly work: (key: string) => Promise<WorkResult>;
  readonly onError: (key: string, error: unknown) => void;
  readonly concurrency: number;
  /** Asked when a key is added. */
  readonly isNew: (key: string) => boolean;
  readonly concurrencyOfNew: number;
  /** Asked before something new is worked on. If it may not, what comes after it may; if none may, all wait for a moment. */
  readonly mayBegin: (key: string) => boolean;
  readonly clock: Clock;
  /** Told how long each waited and was worked on. */
  readonly onWorked?: (key: string, waitedMs: number, workedMs: number) => void;
}

const FIRST_BACK_OFF_MS = 100;
const LAST_BACK_OFF_MS = 60_000;
/** To ask of all that wait at every change took 50 of 124 seconds of CPU for 2,000 imports. */
const MAY_BEGIN_AGAIN_MS = 100;

export class WorkQueue {
  readonly #options: QueueOptions;
  /** With the time that each was added. */
  readonly #waiting = new Map<string, number>();
  readonly #waitingNew = new Map<string, number>();
  readonly #working = new Set<string>();
  readonly #workingNew = new Set<string>();
  /** Added while they are worked on. */
  readonly #addedMeanwhile = new Set<string>();
  readonly #timers = new Map<string, { readonly at: number; readonly cancel: () => void }>();
  readonly #failures = new Map<string, number>();
  #cancelBegin: (() => void) | undefined;
  #isStopped = false;
  #onIdle: (() => void) | undefined;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  /** Keys that wait, without those that are worked on or come back later. */
  get depth(): number {
    return this.#waiting.size + this.#waitingNew.size;
  }

  /** Keys that come back by themselves. */
  get scheduled(): number {
    return this.#timers.size;
  }

  add(key: string): void {
    if (this.#isStopped) return;
    this.#cancelTimer(key);
    if (this.#working.has(key)) this.#addedMeanwhile.add(key);
    else if (!this.#waiting.has(key)) this.#wait(key);
    this.#startWorkers();
  }

  /** The earliest time counts if it is asked for twice. */
  addAfter(key: string, ms: number): void {
    if (this.#isStopped || this.#isWaiting(key) || this.#addedMeanwhile.has(key)) return;
    const at = this.#options.clock.now() + ms;
    const before = this.#timers.get(key);
    if (before !== undefined && before.at <= at) return;
    before?.cancel();
    const cancel = this.#options.clock.after(ms, () => {
      this.#timers.delete(key);
      this.add(key);
    });
    this.#timers.set(key, { at, cancel });
  }

  /** Nothing more is begun. Resolves when what is worked on has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#waiting.clear();
    this.#waitingNew.clear();
    this.#cancelBegin?.();
    for (const key of this.#timers.keys()) this.#cancelTimer(key);
    if (this.#working.size > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
  }

  #isWaiting(key: string): boolean {
    return this.#waiting.has(key) || this.#waitingNew.has(key);
  }

  #wait(key: string): void {
    const since = this.#waitingNew.get(key) ?? this.#options.clock.now();
    if (this.#options.isNew(key)) {
      this.#waitingNew.set(key, since);
      return;
    }
    this.#waitingNew.delete(key);
    this.#waiting.set(key, since);
  }

  #startWorkers(): void {
    while (!this.#isStopped && this.#working.size < this.#options.concurrency) {
      const [begun] = this.#waiting.keys();
      const key = begun ?? this.#firstToBegin();
      if (key === undefined) return;
      const from = begun === undefined ? this.#waitingNew : this.#waiting;
      const addedAt = from.get(key) ?? this.#options.clock.now();
      from.delete(key);
      this.#working.add(key);
      if (begun === undefined) this.#workingNew.add(key);
      void this.#work(key, addedAt);
    }
  }

  #firstToBegin(): string | undefined {
    const { concurrencyOfNew, mayBegin, clock } = this.#options;
    if (this.#cancelBegin !== undefined) return undefined;
    if (this.#waitingNew.size === 0 || this.#workingNew.size >= concurrencyOfNew) return undefined;
    for (const key of this.#waitingNew.keys()) {
      if (mayBegin(key)) return key;
    }
    this.#cancelBegin = clock.after(MAY_BEGIN_AGAIN_MS, () => {
      this.#cancelBegin = undefined;
      this.#startWorkers();
    });
    return undefined;
  }

  async #work(key: string, addedAt: number): Promise<void> {
    const { work, onError, clock, onWorked } = this.#options;
    const startedAt = clock.now();
    let result: WorkResult;
    try {
      result = await work(key);
    } catch (error) {
      onError(key, error);
      result = { result: "failed" };
    }
    onWorked?.(key, startedAt - addedAt, clock.now() - startedAt);
    this.#working.delete(key);
    this.#workingNew.delete(key);
    this.#settle(key, result);
    if (this.#working.size === 0) this.#onIdle?.();
    this.#startWorkers();
  }

  #settle(key: string, result: WorkResult): void {
    const wasAdded = this.#addedMeanwhile.delete(key);
    if (result.result === "done") {
      this.#failures.delete(key);
      if (wasAdded) this.add(key);
      else if (result.againAfterMs !== undefined) this.addAfter(key, result.againAfterMs);
      return;
    }
    // What changed meanwhile may be the remedy, but a key that fails all the time is added all the time.
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    if (wasAdded && failures === 0) this.add(key);
    else this.addAfter(key, Math.min(FIRST_BACK_OFF_MS * 2 ** failures, LAST_BACK_OFF_MS));
  }

  #cancelTimer(key: string): void {
    this.#timers.get(key)?.cancel();
    this.#timers.delete(key);
  }
}
