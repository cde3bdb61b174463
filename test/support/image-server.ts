/**
 * The image server of companions/image-server, built from its sources and started as a kubelet starts it.
 */
import { execFile, spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { goToolchain } from "./go-programs.ts";
import type { Program } from "./go-programs.ts";
import { ROOT } from "./run-decant.ts";
import { until } from "./start-decant.ts";

const SOURCES = path.join(ROOT, "companions", "image-server");
const FOLDER = path.join(process.env["XDG_CACHE_HOME"] ?? path.join(os.homedir(), ".cache"), "decant-tests", "go");
const BUILD_TIMEOUT_MS = 5 * 60 * 1000;

export interface ImageServerOptions {
  /** The folder with the disk, as the server sees it. */
  readonly imageFolder: string;
  /** Where it writes `ready` and looks for `done`, as the server sees it. */
  readonly shared: string;
  /** Its whole environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Run in this root folder, where the program is `/server`. Needs root. */
  readonly chroot?: string;
}

export interface ImageServer {
  readonly child: ChildProcess;
  /** Its exit status, null where a signal ended it. */
  readonly ended: Promise<number | null>;
  readonly stderr: () => string;
  /** `http://127.0.0.1:port`, once it serves. */
  origin(): string;
}

/** The program, kept under a hash of its sources. */
export async function buildImageServer(): Promise<Program> {
  const go = await goToolchain();
  if (go.skip !== false) return go;
  const hash = createHash("sha256");
  for (const file of fs.readdirSync(SOURCES).sort()) hash.update(fs.readFileSync(path.join(SOURCES, file)));
  const program = path.join(FOLDER, `image-server-${hash.digest("hex").slice(0, 16)}`);
  if (fs.existsSync(program)) return { skip: false, path: program };
  // Under another name first: two test processes may build it at the same time.
  fs.mkdirSync(FOLDER, { recursive: true });
  const unfinished = `${program}-${process.pid}`;
  const args = ["build", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w", "-o", unfinished, "."];
  const env = { ...process.env, CGO_ENABLED: "0" };
  await promisify(execFile)(go.path, args, { cwd: SOURCES, env, timeout: BUILD_TIMEOUT_MS });
  fs.renameSync(unfinished, program);
  return { skip: false, path: program };
}

/** Starts it on a free port, runs `use`, and ends it if it still runs. */
export async function withImageServer<T>(
  program: string,
  options: ImageServerOptions,
  use: (server: ImageServer) => Promise<T>,
): Promise<T> {
  const [ready, done] = [path.join(options.shared, "ready"), path.join(options.shared, "done")];
  const flags = ["-p", "0", "-image-dir", options.imageFolder, "-ready-file", ready, "-done-file", done];
  const [command, args] =
    options.chroot === undefined ? [program, flags] : ["chroot", [options.chroot, "/server", ...flags]];
  const child = spawn(command, args, { env: { PATH: process.env["PATH"], ...options.env }, stdio: "pipe" });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  const address = (): string | undefined => / on (127\.0\.0\.1:\d+)$/m.exec(stderr)?.[1];
  const origin = (): string => `http://${address() ?? "not-serving"}`;
  try {
    const place = path.join(options.chroot ?? "/", ready);
    await until(() => (fs.existsSync(place) && address() !== undefined) || child.exitCode !== null);
    return await use({ child, ended, stderr: () => stderr, origin });
  } finally {
    child.kill("SIGKILL");
    await ended;
  }
}
