/**
 * The jobs of one thread, one after the other. What a job reads over the network is fetched while those before it decode and
 * write; a local file is read when it is the job's turn, so that one buffer does.
 */
import { performance } from "node:perf_hooks";
import type { JobExecutor, LoadedInput } from "./executor.ts";
import type { Job, JobResult } from "./job.ts";

export class JobLine {
  readonly #executor: JobExecutor;
  #last: Promise<unknown> = Promise.resolve();

  constructor(executor: JobExecutor) {
    this.#executor = executor;
  }

  /** Settles when the job is done; never before those that were pushed earlier. Rejects as JobExecutor does. */
  push(job: Job): Promise<JobResult> {
    const early = this.#executor.loadsEarly ? this.#executor.load(job.input) : undefined;
    // Thrown when its turn comes.
    if (early instanceof Promise) early.catch(() => undefined);
    const done = this.#last.then(() => this.#run(job, early));
    this.#last = done.catch(() => undefined);
    return done;
  }

  /** No job is worked on any more when this settles; those that wait for the network are given up. */
  async close(): Promise<void> {
    this.#executor.stop();
    await this.#last;
    this.#executor.close();
  }

  async #run(job: Job, early: LoadedInput | Promise<LoadedInput> | undefined): Promise<JobResult> {
    const input = early ?? this.#executor.load(job.input);
    return this.#executor.run(job, input instanceof Promise ? await this.#waitFor(input) : input);
  }

  async #waitFor(input: Promise<LoadedInput>): Promise<LoadedInput> {
    const started = performance.now();
    try {
      return await input;
    } finally {
      this.#executor.counters.add("waitMs", performance.now() - started);
    }
  }
}
