/**
 * decant as a process that a test can hold on to: to feed its standard input slowly, to interrupt it, to run it as another
 * user, or to see its system calls.
 */
import { execFileSync, spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { withFolder } from "./loop-device.ts";
import { ROOT } from "./run-decant.ts";
import type { RunResult } from "./run-decant.ts";

export interface StartOptions {
  /** Default: none. A number is an open descriptor. */
  readonly stdin?: "pipe" | "ignore" | number;
  readonly cwd?: string;
  /** Run as this user and group; see runDecantAs. */
  readonly user?: number;
  /** Where the project is seen; default: where it is. */
  readonly root?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** A command that starts the program, such as strace with its options. */
  readonly under?: readonly string[];
}

export interface StartedDecant {
  readonly child: ChildProcess;
  readonly ended: Promise<RunResult>;
  /** Writes to its standard input and waits until the pipe has taken it. */
  feed(bytes: Uint8Array): Promise<void>;
}

/** A run that hangs does not take the tests with it. */
const MAX_RUN_MS = 60_000;

/** Debian's user and group of nobody. */
export const NOBODY = 65534;

export function startDecant(args: readonly string[], options: StartOptions = {}): StartedDecant {
  const root = options.root ?? ROOT;
  const node = process.execPath.startsWith(`${ROOT}/`)
    ? path.join(root, path.relative(ROOT, process.execPath))
    : process.execPath;
  const [program, ...before] = [...(options.under ?? []), node];
  const child = spawn(program, [...before, path.join(root, "cmd", "decant.ts"), ...args], {
    cwd: options.cwd ?? root,
    env: {
      ...process.env,
      NODE_COMPILE_CACHE: path.join(root, "node_modules", ".cache", "decant"),
      ...options.env,
    },
    timeout: MAX_RUN_MS,
    killSignal: "SIGKILL",
    stdio: [options.stdin ?? "ignore", "pipe", "pipe"],
    ...(options.user === undefined ? {} : { uid: options.user, gid: options.user }),
  });
  child.stdin?.on("error", () => undefined); // whoever refuses its input does not read it to the end
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name]?.setEncoding("utf8").on("data", (text: string) => (output[name] += text));
  }
  const ended = new Promise<RunResult>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (status, signal) => resolve({ status, signal, ...output }));
  });
  const feed = (bytes: Uint8Array): Promise<void> => {
    return new Promise((resolve) => child.stdin?.write(bytes, () => resolve()));
  };
  return { child, ended, feed };
}

/**
 * Runs it to its end as another user. The project may lie where that user may not look (in root's home), so it is mounted
 * once more in a folder that everybody may search. Needs root.
 */
export async function runDecantAs(
  user: number,
  args: readonly string[],
  options: Pick<StartOptions, "cwd"> = {},
): Promise<RunResult> {
  return await withProjectFor(async (root) => await startDecant(args, { ...options, user, root }).ended);
}

/** Calls `body` with the project where every user may run it. Needs root. */
export async function withProjectFor<T>(body: (root: string) => Promise<T>): Promise<T> {
  return await withFolder(async (folder) => {
    chmodSync(folder, 0o755);
    const root = path.join(folder, "decant");
    mkdirSync(root);
    execFileSync("mount", ["--bind", ROOT, root]);
    try {
      return await body(root);
    } finally {
      execFileSync("umount", [root]);
    }
  });
}

/**
 * Runs it to its end under strace.
 * @param calls the system calls to see, as strace's `trace=` has them
 * @returns besides the result, a line for each call of any thread, descriptors with their paths, in the order of their starts
 */
export async function traceDecant(
  calls: string,
  args: readonly string[],
  options: StartOptions = {},
): Promise<RunResult & { readonly trace: readonly string[] }> {
  const log = path.join(tmpdir(), `decant-trace-${randomUUID()}`);
  try {
    const under = ["strace", "-f", "--seccomp-bpf", "-y", "-s", "300", "-o", log, "-e", `trace=${calls}`];
    const result = await startDecant(args, { ...options, under }).ended;
    return { ...result, trace: readFileSync(log, "utf8").split("\n") };
  } finally {
    rmSync(log, { force: true });
  }
}

/** Waits until `claim` holds. @throws Error after ten seconds */
export async function until(claim: () => boolean): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    if (claim()) return;
    await sleep(20);
  }
  throw new Error(`waited for ${String(claim)} in vain`);
}
