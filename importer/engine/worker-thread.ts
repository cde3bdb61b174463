/**
 * The main of a worker thread: makes an executor from the plain data it was started with and runs the jobs it is sent.
 */
import { parentPort, workerData } from "node:worker_threads";
import { JobExecutor } from "./executor.ts";
import type { ExecutorSpec } from "./executor.ts";
import { STOP } from "./job.ts";
import { JobLine } from "./job-line.ts";
import type { JobResult, NumberedJob } from "./job.ts";
import { describeError } from "./thread-error.ts";
import type { ThreadError } from "./thread-error.ts";

export type WorkerAnswer = {
  /** Of the job. */
  readonly number: number;
} & ({ readonly result: JobResult } | { readonly error: ThreadError });

if (parentPort === null) throw new Error("runs in a worker thread only");
const port = parentPort;
let line: JobLine | undefined;

port.on("message", (message: NumberedJob | typeof STOP) => {
  if (message === STOP) {
    void Promise.resolve(line?.close()).then(() => port.close());
    return;
  }
  void answer(message).then((reply) => port.postMessage(reply));
});

async function answer({ number, job }: NumberedJob): Promise<WorkerAnswer> {
  try {
    line ??= new JobLine(new JobExecutor(workerData as ExecutorSpec));
    return { number, result: await line.push(job) };
  } catch (error) {
    return { number, error: describeError(error) };
  }
}
