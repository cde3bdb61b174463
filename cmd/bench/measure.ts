/**
 * Runs a line of shell and says what it took, seen from outside: wall time, CPU time, the peak resident memory of the
 * processes that it started, and how something that is watched meanwhile grew.
 *
 * The peak is the kernel's own (VmHWM), asked for every few milliseconds until the process is gone; what a process adds in
 * its very last moment is missed. CPU time is what the shell's `times` says of its children. Names reach the line as
 * variables, never as text of it.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import fs from "node:fs";
import { performance } from "node:perf_hooks";
import { Interrupted } from "../../importer/errors.ts";
import type { MemoryGroup } from "./memory-group.ts";
import { Samples } from "./samples.ts";
import type { Sample } from "./samples.ts";

export interface Measurement {
  readonly seconds: number;
  /** User and system time, of all processes together. */
  readonly cpuSeconds: number;
  /** The sum of each process's own peak, without the shell's. */
  readonly peakRssBytes: number;
  /** Of the control group that the line ran in: page cache counts too. */
  readonly groupPeakBytes: number | undefined;
  readonly samples: readonly Sample[];
  /** What the line printed: its last 64 KiB of each. */
  readonly stdout: string;
  readonly stderr: string;
}

export interface MeasureOptions {
  /** Ends the line, and all that it started. */
  readonly signal?: AbortSignal;
  /** Asked every 50 ms. */
  readonly watch?: () => number;
  /** Called with what the line says on standard error, as it comes. */
  readonly heard?: ((text: string, seconds: number) => void) | undefined;
  readonly group?: MemoryGroup | undefined;
  /** The whole environment of the line; default: this process's. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** A line that did not end with status 0. */
export class LineFailed extends Error {
  /** Null: a signal ended it. */
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;

  constructor(line: string, status: number | null, said: Pick<Measurement, "stdout" | "stderr">) {
    super(`${line}: status ${status}\n${said.stderr}`);
    this.name = "LineFailed";
    this.status = status;
    this.stdout = said.stdout;
    this.stderr = said.stderr;
  }
}

const POLL_MS = 5;
const SAMPLE_MS = 50;

/** What a line may print that is kept. */
const MAX_OUTPUT = 64 * 1024;

/** How long those that were told to end may clean up. */
const END_GRACE_MS = 5000;

/**
 * Reports the children's times on descriptor 3, whatever the line prints. A pipeline has failed if any part of it has, which
 * Debian 12's sh cannot tell and bash can.
 */
const WRAPPER = `[ -z "$GROUP" ] || echo $$ > "$GROUP"
command -v bash > /dev/null && set -- bash -o pipefail || set -- sh
"$@" -c "$LINE"
status=$?; times >&3; exit $status`;

/** A shell becomes the program that it runs; until then it is not what is measured. */
const SHELLS = ["sh", "dash", "bash"];

/**
 * @param line for `sh`
 * @param variables what the line refers to
 * @throws LineFailed with what it said on standard error; Interrupted once all that it started is gone
 */
export async function measure(
  line: string,
  variables: Readonly<Record<string, string>>,
  folder: string,
  options: MeasureOptions = {},
): Promise<Measurement> {
  stopIfAborted(options);
  const { group, watch, heard } = options;
  const started = performance.now();
  const child = spawn("sh", ["-c", WRAPPER], {
    cwd: folder,
    env: { ...(options.env ?? process.env), ...variables, LINE: line, GROUP: group?.door ?? "" },
    stdio: ["ignore", "pipe", "pipe", "pipe"],
    detached: true, // a process group of its own, which can be ended as a whole
  });
  const peaks = new PeakMemory(child.pid ?? 0);
  const samples = new Samples();
  const seconds = (): number => (performance.now() - started) / 1000;
  const look = (): void => {
    if (watch !== undefined) samples.add(seconds(), watch);
  };
  const timers = [setInterval(() => peaks.sample(), POLL_MS), setInterval(look, SAMPLE_MS)];
  const [stdout, stderr, times] = [1, 2, 3].map((at) => lastOf(child, at)) as [Output, Output, Output];
  if (heard !== undefined) child.stdio[2]?.on("data", (chunk: Buffer) => heard(chunk.toString(), seconds()));
  const stop = endOnSignal(child, options.signal);
  try {
    const status = await new Promise<number | null>((resolve, reject) => {
      child.on("error", reject);
      child.on("close", resolve);
    });
    const took = seconds();
    look();
    stopIfAborted(options);
    if (status !== 0) throw new LineFailed(line, status, { stdout: stdout.text, stderr: stderr.text });
    return {
      seconds: Math.round(took * 1e4) / 1e4,
      cpuSeconds: childSeconds(times.text),
      peakRssBytes: peaks.total,
      groupPeakBytes: group?.peak(),
      samples: samples.list,
      stdout: stdout.text,
      stderr: stderr.text,
    };
  } finally {
    stop();
    for (const timer of timers) clearInterval(timer);
  }
}

function stopIfAborted({ signal }: MeasureOptions): void {
  if (signal?.aborted === true) throw new Interrupted();
}

/** @returns what takes the watch off again */
function endOnSignal(child: ChildProcess, signal: AbortSignal | undefined): () => void {
  let late: NodeJS.Timeout | undefined;
  const end = (name: NodeJS.Signals): void => {
    try {
      process.kill(-(child.pid ?? 0), name);
    } catch {
      // All of it is gone.
    }
  };
  const aborted = (): void => {
    if (child.pid === undefined) return;
    end("SIGTERM");
    late = setTimeout(() => end("SIGKILL"), END_GRACE_MS);
  };
  signal?.addEventListener("abort", aborted, { once: true });
  return () => {
    signal?.removeEventListener("abort", aborted);
    clearTimeout(late);
  };
}

interface Output {
  text: string;
}

/** The end of what comes on a descriptor. */
function lastOf(child: ChildProcess, descriptor: number): Output {
  const output: Output = { text: "" };
  child.stdio[descriptor]?.on("data", (chunk: Buffer) => {
    output.text = (output.text + chunk.toString()).slice(-MAX_OUTPUT);
  });
  return output;
}

/** The peaks of a process's descendants. */
class PeakMemory {
  readonly #root: number;
  readonly #peaks = new Map<number, number>();

  /** @param root a process; its own memory does not count */
  constructor(root: number) {
    this.#root = root;
  }

  /** Bytes; the sum over all descendants that were seen. */
  get total(): number {
    return [...this.#peaks.values()].reduce((a, b) => a + b, 0);
  }

  /** Asks the kernel again. */
  sample(): void {
    for (const pid of descendants(this.#root)) {
      const status = readProc(`/proc/${pid}/status`);
      const name = /^Name:\s*(.*)$/m.exec(status)?.[1] ?? "";
      if (name === "" || SHELLS.includes(name)) continue;
      this.#peaks.set(pid, Math.max(this.#peaks.get(pid) ?? 0, peakOf(status)));
    }
  }
}

/** VmHWM of a process's status file, bytes; 0 if it has none any more. */
export function peakOf(status: string): number {
  return Number(/^VmHWM:\s*(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
}

/** Seconds of user and system time of the children, from the second line of the shell's `times`. */
export function childSeconds(times: string): number {
  const [, children = ""] = times.trim().split("\n");
  const parts = [...children.matchAll(/(\d+)m([\d.]+)s/g)];
  if (parts.length !== 2) throw new Error(`"times" of the shell printed: ${times}`);
  return parts.reduce((sum, [, minutes, seconds]) => sum + Number(minutes) * 60 + Number(seconds), 0);
}

function descendants(pid: number): number[] {
  const children = readProc(`/proc/${pid}/task/${pid}/children`).trim().split(" ").filter(Boolean).map(Number);
  return children.flatMap((child) => [child, ...descendants(child)]);
}

/** Empty once the process is gone. */
function readProc(file: string): string {
  try {
    return fs.readFileSync(file, "latin1");
  } catch {
    return "";
  }
}
