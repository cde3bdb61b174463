/**
 * Programs of the cluster as processes that are known well enough to be stopped by another process, or after a crash of the
 * one that started them: by process id and the time of their start, because ids are given again.
 */
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { errnoName } from "../../importer/errors.ts";

export interface ProcessFacts {
  readonly name: string;
  readonly pid: number;
  /** In the kernel's ticks since the machine's start: /proc/PID/stat. Empty for one that has ended already. */
  readonly startTime: string;
}

export interface StartedProcess extends ProcessFacts {
  /** The file with all that it writes. */
  readonly log: string;
}

export interface StartOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** Keeps the log. */
  readonly folder: string;
  /** It goes on when this process ends; else the kernel kills it then, however this process ends. */
  readonly outlives: boolean;
}

/**
 * Programs in Go collect garbage a quarter as often as they would. Where etcd, the API server and all that asks it share two
 * cores, it is cores that are missing and not memory: 500 imports at once took 43 s instead of 49. Up to a limit: with 2,000
 * the API server would have had 2.9 GB.
 */
const GO_SETTINGS = { GOGC: "400", GOMEMLIMIT: "2GiB" };
/** A program has this long to end by itself. */
const PATIENCE_MS = 10_000;
const POLL_MS = 20;
const SHOWN_LINES = 15;

export async function startProgram(name: string, options: StartOptions): Promise<StartedProcess> {
  const log = path.join(options.folder, `${name}.log`);
  const descriptor = fs.openSync(log, "a");
  // setpriv becomes the program: the process id is the program's.
  const [command, args] = options.outlives
    ? [options.command, options.args]
    : ["setpriv", ["--pdeathsig", "KILL", options.command, ...options.args]];
  // Nothing else: proxies and the like are meant for other programs.
  const env = { PATH: process.env["PATH"], HOME: options.folder, ...GO_SETTINGS };
  try {
    const child = spawn(command, args, {
      cwd: options.folder,
      env,
      detached: options.outlives,
      stdio: ["ignore", descriptor, descriptor],
    });
    await new Promise<void>((resolve, reject) => child.once("spawn", resolve).once("error", reject));
    if (child.pid === undefined) throw new Error(`${name} has no process id`);
    child.unref();
    return { ...processFacts(name, child.pid), log };
  } finally {
    fs.closeSync(descriptor);
  }
}

export function processFacts(name: string, pid: number): ProcessFacts {
  return { name, pid, startTime: startTimeOf(pid) ?? "" };
}

/** Ends them one after the other, in the order given, each before the next. */
export async function stopPrograms(programs: readonly StartedProcess[]): Promise<void> {
  for (const program of programs) {
    if (!isRunning(program)) continue;
    signal(program.pid, "SIGTERM");
    if (await poll(() => !isRunning(program), PATIENCE_MS)) continue;
    signal(program.pid, "SIGKILL");
    await poll(() => !isRunning(program), PATIENCE_MS);
  }
}

/** @returns false for one that waits to be reaped */
export function isRunning({ pid, startTime }: ProcessFacts): boolean {
  return startTimeOf(pid) === startTime;
}

/**
 * Waits until `isReady`, asked again and again, answers true.
 * @throws Error with the end of its log if the program ends first, or is not ready in time
 */
export async function untilReady(
  program: StartedProcess,
  isReady: () => Promise<boolean>,
  timeoutMs: number,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    expectRunning([program]);
    if (await isReady().catch(() => false)) return;
    if (Date.now() > deadline) throw new Error(`${program.name} is not ready: ${endOf(program.log)}`);
    await sleep(POLL_MS);
  }
}

/** @throws Error with the end of its log if one of them has ended */
export function expectRunning(programs: readonly StartedProcess[]): void {
  const ended = programs.find((program) => !isRunning(program));
  if (ended !== undefined) throw new Error(`${ended.name} ended: ${endOf(ended.log)}`);
}

/** The last lines that a program wrote. */
function endOf(log: string): string {
  return `\n${fs.readFileSync(log, "utf8").trimEnd().split("\n").slice(-SHOWN_LINES).join("\n")}`;
}

export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (errnoName(error) !== "ESRCH") throw error;
  }
}

function startTimeOf(pid: number): string | undefined {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name, which may hold anything, is in brackets; then follow the state (field 3) and, as field 22, the time.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

async function poll(isDone: () => boolean, timeoutMs: number): Promise<boolean> {
  const deadline = Date.now() + timeoutMs;
  while (!isDone()) {
    if (Date.now() > deadline) return false;
    await sleep(POLL_MS);
  }
  return true;
}
