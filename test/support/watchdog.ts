/**
 * Notices a hang that nothing in the hanging thread could notice, says which input it was, and ends the process.
 */
import { Worker } from "node:worker_threads";

export interface Watchdog {
  /** A new input is at work; `what` is enough to make it again. */
  feed(what: string): void;
  close(): Promise<void>;
}

const TEXT_LENGTH = 4096;

const PROGRAM = `
  const { workerData } = require("node:worker_threads");
  const { writeSync } = require("node:fs");
  const beats = new Int32Array(workerData.memory, 0, 2);
  const text = Buffer.from(workerData.memory, 8);
  for (let last = -1; ; ) {
    const now = Atomics.load(beats, 0);
    if (now < 0) break;
    if (now === last) {
      writeSync(2, "no progress for " + workerData.seconds + " s: " + text.toString("utf8", 0, Atomics.load(beats, 1)) + "\\n");
      process.kill(process.pid, "SIGKILL");
    }
    last = now;
    Atomics.wait(beats, 0, now, workerData.seconds * 1000);
  }
`;

/** @param seconds that any one input may take */
export function watchdog(seconds: number): Watchdog {
  const memory = new SharedArrayBuffer(8 + TEXT_LENGTH);
  const beats = new Int32Array(memory, 0, 2);
  const text = Buffer.from(memory, 8);
  const worker = new Worker(PROGRAM, { eval: true, workerData: { memory, seconds } });
  let count = 0;
  return {
    feed(what) {
      Atomics.store(beats, 1, text.write(what));
      count += 1;
      Atomics.store(beats, 0, count);
    },
    async close() {
      Atomics.store(beats, 0, -1);
      Atomics.notify(beats, 0);
      await worker.terminate();
    },
  };
}
