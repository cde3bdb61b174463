/**
 * Runs jobs on a fixed number of threads with a bounded queue; the first error stops all.
 *
 * With one thread there are no workers: jobs run in the caller's own, which is both the smallest memory and the same code.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { asError, Interrupted } from "../errors.ts";
import { Turns } from "../turns.ts";
import { Counters, sumTotals } from "./counters.ts";
import type { Totals } from "./counters.ts";
import { JobExecutor } from "./executor.ts";
import type { ExecutorSpec } from "./executor.ts";
import { JobLine } from "./job-line.ts";
import { ITEM, ITEM_FIELDS, itemField, PLAIN, STOP } from "./job.ts";
import type { Job, JobResult, NumberedJob } from "./job.ts";
import { reviveError } from "./thread-error.ts";
import type { WorkerAnswer } from "./worker-thread.ts";

/** Each worker has one job at work and one waiting, so that it never idles while a message is under way. */
const JOBS_PER_WORKER = 2;

/**
 * Over the network those that wait are being fetched: two threads have 16 MiB on their way. At a round trip of 20 ms a plain
 * qcow2 of 929 MiB took 4.3 s with 4 (into memory 4.7), 3.1 s with 6, 2.7 s (3.1) with 8, and 2.9 s with 16, where a single
 * stream takes 1.5 s. Each is a MiB of memory in each thread.
 */
const REMOTE_JOBS_PER_WORKER = 8;

/**
 * Out of a stream a decoder hands out several at a time, and goes on while they are done; their bytes are in the slab, which
 * bounds them. A zlib qcow2 in a gzip layer of a registry took 5.8 s with 2, 5.3 with 4, 4.5 with 8 and 4.9 with 16, a plain
 * one 5.1, 4.7, 4.1 and 4.1.
 */
const STREAM_JOBS_PER_WORKER = 8;

// The heap of a worker holds messages of a few kilobytes; V8's defaults would let each grow by tens of megabytes.
const WORKER_HEAP = { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 64 } as const;

/** How long a thread may take to end by itself. */
const END_GRACE_MS = 10_000;

export type PoolSpec = Omit<ExecutorSpec, "counters" | "stopped">;

export interface JobPool {
  /** Waits for a place, then hands the job over. `done` is called once it has succeeded. Rejects with the first error of any job. */
  submit(job: Job, done?: (result: JobResult) => void): Promise<void>;
  /** Waits until one of the jobs under way has ended; false if there is none. Rejects with the first error of any job. */
  oneDone(): Promise<boolean>;
  /** Waits until no job is under way. Rejects with the first error of any job. */
  drain(): Promise<void>;
  totals(): Totals;
  /** Ends the threads, whatever they are doing. Waits until they are gone, so that no write comes later. */
  close(): Promise<void>;
}

export function openJobPool(spec: PoolSpec, threads: number): JobPool {
  return threads === 1 ? new OwnThread(spec) : new WorkerPool(spec, threads);
}

class OwnThread implements JobPool {
  readonly #executor: JobExecutor;
  readonly #line: JobLine;
  readonly #turns = new Turns();
  /** Jobs that are fetched ahead; of a local file never more than one. */
  readonly #pending = new Set<Promise<void>>();
  #error: Error | undefined;
  #closing: Promise<void> | undefined;

  constructor(spec: PoolSpec) {
    this.#executor = new JobExecutor({ ...spec, counters: new Counters().shared });
    this.#line = new JobLine(this.#executor);
  }

  async submit(job: Job, done?: (result: JobResult) => void): Promise<void> {
    if (this.#closing !== undefined) throw new Interrupted();
    this.#throwIfFailed();
    const ended = this.#run(job, done).finally(() => this.#pending.delete(ended));
    ended.catch((error: unknown) => (this.#error ??= asError(error)));
    this.#pending.add(ended);
    if (this.#pending.size >= (this.#executor.loadsEarly ? REMOTE_JOBS_PER_WORKER : 1)) await this.oneDone();
    await this.#turns.due();
  }

  async #run(job: Job, done: ((result: JobResult) => void) | undefined): Promise<void> {
    const result = await this.#line.push(job);
    done?.(result);
  }

  async oneDone(): Promise<boolean> {
    this.#throwIfFailed();
    if (this.#pending.size === 0) return false;
    await Promise.race(this.#pending);
    return true;
  }

  #throwIfFailed(): void {
    if (this.#error !== undefined) throw this.#error;
  }

  async drain(): Promise<void> {
    while (await this.oneDone());
  }

  get counters(): Counters {
    return this.#executor.counters;
  }

  totals(): Totals {
    return this.counters.totals();
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#line.close());
  }
}

interface Slot {
  readonly worker: Worker;
  /** Who is to be told, by the jobs' numbers. */
  readonly pending: Map<number, ((result: JobResult) => void) | undefined>;
}

class WorkerPool implements JobPool {
  readonly #slots: Slot[] = [];
  readonly #counters: Counters[] = [];
  /**
   * Until the first worker answers, which takes 50 to 100 ms, plain jobs of a local file that find no room are done here: 1 MB
   * a millisecond that else nobody would copy. No encoded ones: the portable zstd decoder brings 15 MB to each thread.
   */
  #standIn: OwnThread | undefined;
  #submitted = 0;
  #error: Error | undefined;
  #wake: (() => void) | undefined;
  readonly #stopped = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
  readonly #jobsPerWorker: number;

  constructor(spec: PoolSpec, threads: number) {
    this.#jobsPerWorker = jobsPerWorker(spec);
    if (spec.read !== undefined && spec.read.remote === undefined) {
      this.#standIn = new OwnThread(spec);
      this.#counters.push(this.#standIn.counters);
    }
    for (let i = 0; i < threads; i++) {
      const counters = new Counters();
      const workerData: ExecutorSpec = { ...spec, counters: counters.shared, stopped: this.#stopped };
      const worker = new Worker(new URL(workerFile(), import.meta.url), { workerData, resourceLimits: WORKER_HEAP });
      const slot: Slot = { worker, pending: new Map() };
      worker.on("message", (answer: WorkerAnswer) => this.#answered(slot, answer));
      worker.on("error", (error: Error) => this.#fail(error));
      this.#counters.push(counters);
      this.#slots.push(slot);
    }
  }

  async submit(job: Job, done?: (result: JobResult) => void): Promise<void> {
    for (;;) {
      this.#throwIfFailed();
      const slot = this.#slots.reduce((a, b) => (b.pending.size < a.pending.size ? b : a));
      if (slot.pending.size < this.#jobsPerWorker) {
        const numbered: NumberedJob = { number: this.#submitted++, job };
        slot.pending.set(numbered.number, done);
        slot.worker.postMessage(numbered, job.input.kind === "bytes" ? [job.input.bytes.buffer as ArrayBuffer] : []);
        return;
      }
      if (this.#standIn === undefined || !isPlain(job)) {
        await this.#change();
        continue;
      }
      await this.#standIn.submit(job, done).catch((error: unknown) => this.#fail(asError(error)));
      await nextTurn();
      this.#throwIfFailed();
      return;
    }
  }

  async oneDone(): Promise<boolean> {
    this.#throwIfFailed();
    if (this.#slots.every((slot) => slot.pending.size === 0)) return false;
    await this.#change();
    this.#throwIfFailed();
    return true;
  }

  async drain(): Promise<void> {
    while (await this.oneDone());
  }

  #throwIfFailed(): void {
    if (this.#error !== undefined) throw this.#error;
  }

  totals(): Totals {
    return sumTotals(this.#counters);
  }

  async close(): Promise<void> {
    this.#fail(new Interrupted());
    this.#standDown();
    Atomics.store(new Int32Array(this.#stopped), 0, 1);
    await Promise.all(this.#slots.map((slot) => ended(slot.worker)));
  }

  #answered(slot: Slot, answer: WorkerAnswer): void {
    const done = slot.pending.get(answer.number);
    slot.pending.delete(answer.number);
    this.#standDown();
    if ("error" in answer) {
      this.#fail(reviveError(answer.error));
      return;
    }
    try {
      done?.(answer.result);
    } catch (error) {
      this.#fail(asError(error));
    }
    this.#wake?.();
  }

  #standDown(): void {
    void this.#standIn?.close();
    this.#standIn = undefined;
  }

  #fail(error: Error): void {
    this.#error ??= error;
    this.#wake?.();
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        resolve();
      };
    });
  }
}

function jobsPerWorker({ read, slab }: PoolSpec): number {
  if (slab !== undefined) return STREAM_JOBS_PER_WORKER;
  return read?.remote === undefined ? JOBS_PER_WORKER : REMOTE_JOBS_PER_WORKER;
}

/** Nothing of it has to be decoded. */
function isPlain({ items }: Job): boolean {
  for (let row = 0; row < items.length / ITEM_FIELDS; row++) {
    if (itemField(items, row, ITEM.encoding) !== PLAIN) return false;
  }
  return true;
}

/**
 * Lets a thread end by itself, and ends it if it does not. To end it first would be quicker, but a thread that is ended while
 * it loads a native package takes the process with it (SIGABRT in napi_throw, koffi 3.3.4, Node.js 24).
 */
async function ended(worker: Worker): Promise<void> {
  if (worker.threadId === -1) return;
  const exit = new Promise((resolve) => worker.once("exit", resolve));
  worker.postMessage(STOP, []);
  const late = setTimeout(() => void worker.terminate(), END_GRACE_MS);
  await exit;
  clearTimeout(late);
}

/** The compiled program has .js files beside it, the development tree .ts. */
function workerFile(): string {
  return import.meta.url.endsWith(".ts") ? "./worker-thread.ts" : "./worker-thread.js";
}
