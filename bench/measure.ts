/**
 * Runs a line of shell and says what it took, seen from outside: wall time, CPU time, and the peak resident memory of
 * the processes that it started.
 *
 * The peak is the kernel's own (VmHWM), asked for every few milliseconds until the process is gone; what a process adds in
 * its very last moment is missed. CPU time is what the shell's `times` says of its children.
 */
import { spawn } from "node:child_process";
import fs from "node:fs";
import { performance } from "node:perf_hooks";

export interface Measurement {
  readonly seconds: number;
  /** User and system time, of all processes together. */
  readonly cpuSeconds: number;
  /** The sum of each process's own peak, without the shell's. */
  readonly peakRssBytes: number;
}

const POLL_MS = 5;

/** Reports the children's times on descriptor 3, whatever the line prints. */
const WRAPPER = `sh -c "$LINE"; status=$?; times >&3; exit $status`;

/**
 * @param line for `sh`; what it writes to standard output is thrown away
 * @param variables what the line refers to
 * @throws Error with what it said on standard error, if it fails
 */
export async function measure(
  line: string,
  variables: Readonly<Record<string, string>>,
  folder: string,
): Promise<Measurement> {
  const started = performance.now();
  const child = spawn("sh", ["-c", WRAPPER], {
    cwd: folder,
    env: { ...process.env, ...variables, LINE: line },
    stdio: ["ignore", "ignore", "pipe", "pipe"],
  });
  const peaks = new PeakMemory(child.pid ?? 0);
  const poll = setInterval(() => peaks.sample(), POLL_MS);
  const said = ["", ""];
  child.stdio[2]?.on("data", (chunk: Buffer) => (said[0] += chunk.toString()));
  child.stdio[3]?.on("data", (chunk: Buffer) => (said[1] += chunk.toString()));
  try {
    const status = await new Promise<number | null>((resolve, reject) => {
      child.on("error", reject);
      child.on("close", resolve);
    });
    const seconds = (performance.now() - started) / 1000;
    if (status !== 0) throw new Error(`${line}: status ${status}\n${said[0]}`);
    return { seconds, cpuSeconds: childSeconds(said[1] ?? ""), peakRssBytes: peaks.total };
  } finally {
    clearInterval(poll);
  }
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
      // A shell becomes the program that it runs; until then it is not what is measured.
      if (name === "" || name === "sh" || name === "dash") continue;
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
