/**
 * What a command sees of the process: streams, environment, the signal that says stop. Tests bring their own.
 */
import { readFileSync, writeSync } from "node:fs";
import { constants } from "node:os";
import { loadKernel } from "../importer/kernel.ts";
import { consequences } from "../importer/outcome.ts";

export interface TextOutput {
  write(text: string): void;
  readonly isTTY: boolean;
  readonly columns: number;
}

export interface CommandIo {
  /** Data. */
  readonly stdout: TextOutput;
  /** Talk: progress, summaries, errors. */
  readonly stderr: TextOutput;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Aborted by SIGINT, SIGTERM and SIGHUP. */
  readonly signal: AbortSignal;
  /** Peak resident memory of the process so far, bytes. */
  maxRss(): number;
  exit(status: number): never;
}

const EXIT_INTERRUPTED = consequences.INTERRUPTED.exit;

/** What a shell adds to the number of the signal that ended a process. */
const SIGNALLED = 128;

export function processIo(): CommandIo {
  let stop: AbortController | undefined;
  return {
    stdout: output(1, process.stdout),
    stderr: output(2, process.stderr),
    env: process.env,
    // A command that never asks for the signal has nothing to clean up, and is ended by the kernel at once.
    get signal() {
      stop ??= stopOnSignals();
      return stop.signal;
    },
    maxRss: peakMemory,
    exit: (status) => (stop?.signal.aborted === true ? endInterrupted(status) : process.exit(status)),
  };
}

/** What getrusage says begins with the memory of the process that started this one: Linux carries it over exec. */
function peakMemory(): number {
  try {
    const kibibytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
    if (kibibytes !== undefined) return Number(kibibytes) * 1024;
  } catch {
    // There is no /proc.
  }
  return process.resourceUsage().maxRSS * 1024;
}

/**
 * process.exit waits for Node.js's threads, and one may be in a read from standard input that never returns. Without kernel
 * calls the signal itself ends the process, which a shell shows as 130 too.
 */
function endInterrupted(status: number): never {
  loadKernel()?.exitNow(status);
  // A program with a status of its own for this reads no standard input.
  if (status !== EXIT_INTERRUPTED) process.exit(status);
  process.removeAllListeners("SIGINT");
  process.kill(process.pid, "SIGINT");
  return process.exit(status);
}

function stopOnSignals(): AbortController {
  const stop = new AbortController();
  let signals = 0;
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(name, () => {
      signals += 1;
      stop.abort();
      // A second Ctrl-C does not wait for the clean-up.
      if (signals > 1) endInterrupted(SIGNALLED + constants.signals[name]);
    });
  }
  return stop;
}

/** Written at once and whole, so that nothing is lost when the process ends. */
function output(fd: number, stream: NodeJS.WriteStream): TextOutput {
  return {
    isTTY: stream.isTTY,
    columns: stream.columns ?? 80,
    write(text) {
      const bytes = Buffer.from(text);
      let done = 0;
      while (done < bytes.length) {
        try {
          done += writeSync(fd, bytes, done);
        } catch (error) {
          const code = (error as NodeJS.ErrnoException).code;
          if (code === "EPIPE") return; // whoever read it has enough
          if (code !== "EAGAIN") throw error;
        }
      }
    },
  };
}
