/**
 * The main of a worker thread: makes an executor from the plain data it was started with and runs the jobs it is sent.
 */
import { parentPort, workerData } from "node:worker_threads";
import { JobExecutor } from "./executor.ts";
import type { ExecutorSpec } from "./executor.ts";
import { STOP } from "./job.ts";
import type { Job, JobResult } from "./job.ts";
import { describeError } from "./thread-error.ts";
import type { ThreadError } from "./thread-error.ts";

export type WorkerAnswer = { readonly result: JobResult } | { readonly error: ThreadError };

if (parentPort === null) throw new Error("runs in a worker thread only");
const port = parentPort;
let executor: JobExecutor | undefined;

port.on("message", (message: Job | typeof STOP) => {
  if (message === STOP) {
    executor?.close();
    port.close();
    return;
  }
  let answer: WorkerAnswer;
  try {
    executor ??= new JobExecutor(workerData as ExecutorSpec);
    answer = { result: executor.run(message) };
  } catch (error) {
    answer = { error: describeError(error) };
  }
  port.postMessage(answer);
});
