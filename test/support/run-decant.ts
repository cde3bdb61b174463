/**
 * Runs decant as its users do: a process of its own.
 *
 * Compiled sources are kept in node_modules/.cache, as the launcher keeps them; that halves the start.
 */
import { spawn } from "node:child_process";
import path from "node:path";

export const ROOT = path.join(import.meta.dirname, "..", "..");

export interface RunOptions {
  /** Written to standard input through a pipe; without it there is none. */
  readonly input?: Uint8Array;
  /** Added to the environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** By default the repository's root. */
  readonly cwd?: string;
}

export interface RunResult {
  /** Null if a signal ended it. */
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export function runDecant(args: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  const env = {
    ...process.env,
    NODE_COMPILE_CACHE: path.join(ROOT, "node_modules", ".cache", "decant"),
    ...options.env,
  };
  const child = spawn(process.execPath, [path.join(ROOT, "cmd", "decant.ts"), ...args], {
    cwd: options.cwd ?? ROOT,
    env,
    stdio: [options.input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
  });
  // A run that refuses its input does not read it to the end.
  child.stdin?.on("error", () => undefined);
  child.stdin?.end(options.input);
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout?.on("data", (chunk: Buffer) => stdout.push(chunk));
  child.stderr?.on("data", (chunk: Buffer) => stderr.push(chunk));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (status, signal) => {
      resolve({
        status,
        signal,
        stdout: Buffer.concat(stdout).toString(),
        stderr: Buffer.concat(stderr).toString(),
      });
    });
  });
}
