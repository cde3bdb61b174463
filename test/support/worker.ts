/**
 * The worker as a process, with its container's paths in a folder of the test's own.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { ROOT } from "./run-decant.ts";

export interface WorkerPlace {
  readonly folder: string;
  /** The filesystem volume; a mount of the test's own, or a folder. */
  readonly data: string;
  /** The block volume; undefined: there is none. */
  readonly device?: string | undefined;
  /** The scratch volume; undefined: there is none. */
  readonly scratch?: string | undefined;
}

export interface WorkerResult {
  /** Null if a signal ended it. */
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  /** What the termination log holds; undefined: nothing was written. */
  readonly message: string | undefined;
  readonly stdout: string;
  /** All of it, as it was written. */
  readonly log: string;
  /** The texts of its lines. */
  readonly lines: readonly string[];
}

export interface StartedWorker {
  readonly child: ChildProcess;
  readonly ended: Promise<WorkerResult>;
  /** What the log says so far. */
  readonly log: () => string;
}

export interface WorkerStart {
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  /** A command that starts the program. */
  readonly under?: readonly string[];
  /** Run as this user and group. */
  readonly user?: number;
  readonly root?: string;
  readonly maxMs?: number;
}

/** A run that hangs does not take the tests with it. */
const MAX_RUN_MS = 60_000;

/** A folder of `folder` is the volume. */
export function workerPlace(folder: string, more: Partial<WorkerPlace> = {}): WorkerPlace {
  const data = more.data ?? path.join(folder, "data");
  if (more.device === undefined) fs.mkdirSync(data, { recursive: true });
  return { folder, ...more, data };
}

/** Everything that CDI's controller sets whatever the source, then `env`. */
export function startWorker(place: WorkerPlace, start: WorkerStart = {}): StartedWorker {
  const nothing = path.join(place.folder, "nothing");
  const terminationLog = path.join(place.folder, "termination-log");
  fs.rmSync(terminationLog, { force: true });
  const root = start.root ?? ROOT;
  const [program, ...args] = [...(start.under ?? []), "sh", path.join(root, "bin", "decant"), "import"];
  const child = spawn(program, [...args, "-alsologtostderr", ...(start.args ?? ["-v=3"])], {
    cwd: root,
    env: {
      PATH: process.env["PATH"],
      NODE_COMPILE_CACHE: path.join(root, "node_modules", ".cache", "decant"),
      IMPORTER_CONTENTTYPE: "kubevirt",
      FILESYSTEM_OVERHEAD: place.device === undefined ? "0.06" : "0",
      INSECURE_TLS: "false",
      PREALLOCATION: "false",
      IMPORTER_PROXY_CERT_DIR: nothing,
      DECANT_DATA_DIR: place.data,
      DECANT_BLOCK_DEVICE: place.device ?? nothing,
      DECANT_SCRATCH_DIR: place.scratch ?? nothing,
      DECANT_TERMINATION_LOG: terminationLog,
      DECANT_EXTRA_HEADERS_DIR: path.join(place.folder, "extraheaders"),
      DECANT_METRICS_PORT: "0",
      ...start.env,
    },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: start.maxMs ?? MAX_RUN_MS,
    killSignal: "SIGKILL",
    ...(start.user === undefined ? {} : { uid: start.user, gid: start.user }),
  });
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => (output[name] += text));
  }
  const ended = new Promise<WorkerResult>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (status, signal) => {
      resolve({
        status,
        signal,
        message: fs.existsSync(terminationLog) ? fs.readFileSync(terminationLog, "utf8") : undefined,
        stdout: output.stdout,
        log: output.stderr,
        lines: textsOf(output.stderr),
      });
    });
  });
  return { child, ended, log: () => output.stderr };
}

export async function runWorker(place: WorkerPlace, start: WorkerStart = {}): Promise<WorkerResult> {
  return await startWorker(place, start).ended;
}

/** Everything under the volume, hidden names too. */
export function leftIn(place: WorkerPlace): string[] {
  return fs.readdirSync(place.data).sort();
}

function textsOf(log: string): string[] {
  return log
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => String((JSON.parse(line) as { msg?: unknown }).msg));
}
