/**
 * A Go toolchain for the tests, and servers built with it that Debian does not package.
 *
 * The machine's `go` serves if it is new enough, else one is fetched from the Go module proxy (GOPROXY) and compared with a
 * checksum. Toolchain and programs are kept in a cache folder outside the checkout, each under its version. `npm test` builds
 * the programs before the tests start: that takes minutes the first time. Without a network the answer is a reason to skip.
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { requireTools } from "./tools.ts";

/** Where each program comes from. */
const PROGRAMS: Readonly<Record<string, string>> = {
  "fake-gcs-server": "github.com/fsouza/fake-gcs-server@v1.56.1",
  "toxiproxy-server": "github.com/Shopify/toxiproxy/v2/cmd/server@v2.5.0",
  versitygw: "github.com/versity/versitygw/cmd/versitygw@v1.8.0",
};

/** The oldest `go` of the machine that is taken: 1.24. */
const OLDEST_MINOR = 24;
const VERSION = "1.26.1";
/** SHA-256 of the toolchain's archives, as the Go checksum database vouches for them. */
const ARCHIVES: Readonly<Record<string, { readonly arch: string; readonly sha256: string }>> = {
  x64: { arch: "amd64", sha256: "2b1229db5e5a1177fb2ee2c9ab8d528e94ea6b7f61a332701aadb75d3247b83a" },
  arm64: { arch: "arm64", sha256: "76f5a25cc326f076539e010fc071e06b7d399982ee2747b0aa505c5fbdfe5175" },
};
const DEFAULT_PROXY = "https://proxy.golang.org";
const DOWNLOAD_TIMEOUT_MS = 5 * 60 * 1000;
const BUILD_TIMEOUT_MS = 30 * 60 * 1000;

const FOLDER = path.join(process.env["XDG_CACHE_HOME"] ?? path.join(os.homedir(), ".cache"), "decant-tests", "go");

/** Something to run, or the reason why there is none. */
export interface Program {
  /** For `describe(name, { skip }, …)`. */
  readonly skip: false | string;
  /** Of use only where `skip` is false. */
  readonly path: string;
}

/**
 * The `go` command.
 * @throws Error instead of a reason to skip with CI=true
 */
export async function goToolchain(): Promise<Program> {
  return await orSkip("needs Go", findGo);
}

/**
 * A program of PROGRAMS, built if it is not there yet.
 * @param announce called before it is built
 * @throws Error instead of a reason to skip with CI=true, and always for a name that PROGRAMS does not list
 */
export async function goProgram(name: string, announce: () => void = () => undefined): Promise<Program> {
  const source = PROGRAMS[name];
  if (source === undefined) throw new Error(`test/support/go-programs.ts does not list ${name}`);
  const version = source.slice(source.lastIndexOf("@") + 1);
  return await buildOnce(name, version, { args: [source], script: INSTALL, announce });
}

export interface Recipe {
  /** For sh: the program goes to `$3`. `$1` is the go command, `$2` an empty folder, the arguments begin with `$4`. */
  readonly script: string;
  readonly args: readonly string[];
  /** Default: the machine's. */
  readonly cwd?: string;
  /** Called before it is built. */
  readonly announce?: () => void;
}

/** One module, none of whose `replace` lines counts. */
const INSTALL = `GOBIN="$2" "$1" install -trimpath -ldflags "-s -w" "$4" && mv "$2"/* "$3"`;

/**
 * A program that is kept in the cache under its name and version, built by a recipe if it is not there yet.
 * @throws Error instead of a reason to skip with CI=true
 */
export async function buildOnce(name: string, version: string, recipe: Recipe): Promise<Program> {
  return await orSkip(`needs ${name}`, async () => {
    const program = path.join(FOLDER, `${name}-${version}`);
    if (fs.existsSync(program)) return program;
    recipe.announce?.();
    await build(await findGo(), recipe, program);
    return program;
  });
}

/** The programs that a test's source asks for by name. */
export function goProgramsNamedIn(source: string): string[] {
  return Object.keys(PROGRAMS).filter((name) => source.includes(`goProgram("${name}")`));
}

/** Every program that this file knows. */
export function listedPrograms(): string[] {
  return Object.keys(PROGRAMS);
}

async function orSkip(need: string, find: () => Promise<string>): Promise<Program> {
  try {
    return { skip: false, path: await find() };
  } catch (cause) {
    const reason = `${need}: ${cause instanceof Error ? cause.message : "failed"}`;
    if (process.env["CI"] !== "true") return { skip: reason, path: "" };
    throw new Error(`CI=true allows no skipped test, and this one ${reason}`, { cause });
  }
}

async function findGo(): Promise<string> {
  if (await isNewEnough("go")) return "go";
  const archive = ARCHIVES[process.arch];
  if (archive === undefined) throw new Error(`there is no toolchain for ${process.arch} here`);
  const folder = path.join(FOLDER, `go${VERSION}`);
  const go = path.join(folder, "bin", "go");
  if (!fs.existsSync(go)) await fetchToolchain(`v0.0.1-go${VERSION}.linux-${archive.arch}`, archive.sha256, folder);
  return go;
}

async function isNewEnough(go: string): Promise<boolean> {
  try {
    const env = { ...process.env, GOTOOLCHAIN: "local" };
    const { stdout } = await promisify(execFile)(go, ["env", "GOVERSION"], { env });
    return Number(/^go1\.(\d+)/.exec(stdout)?.[1] ?? 0) >= OLDEST_MINOR;
  } catch {
    return false;
  }
}

/** Under another name first: two test processes may do it at the same time, and the one that comes second is not needed. */
async function fetchToolchain(version: string, sha256: string, folder: string): Promise<void> {
  const reason = requireTools("unzip");
  if (reason !== false) throw new Error(reason);
  await inTemporaryFolder(async (temporary) => {
    const zip = path.join(temporary, "go.zip");
    fs.writeFileSync(zip, await download(`golang.org/toolchain/@v/${version}.zip`, sha256));
    await run("unzip", ["-q", zip, "-d", temporary], { timeoutMs: DOWNLOAD_TIMEOUT_MS });
    const unpacked = path.join(temporary, "golang.org", `toolchain@${version}`);
    // The archives of the module proxy hold no modes.
    for (const tools of ["bin", "pkg/tool"]) {
      const entries = fs.readdirSync(path.join(unpacked, tools), { recursive: true, withFileTypes: true });
      for (const entry of entries) fs.chmodSync(path.join(entry.parentPath, entry.name), 0o755);
    }
    try {
      fs.renameSync(unpacked, folder);
    } catch (error) {
      if (!fs.existsSync(folder)) throw error;
    }
  });
}

async function download(file: string, sha256: string): Promise<Buffer> {
  const proxies = (process.env["GOPROXY"] ?? DEFAULT_PROXY).split(/[,|]/);
  if (proxies.includes("off")) throw new Error("GOPROXY=off");
  const proxy = proxies.find((name) => /^https?:/.test(name)) ?? DEFAULT_PROXY;
  const answer = await fetch(`${proxy.replace(/\/+$/, "")}/${file}`, {
    signal: AbortSignal.timeout(DOWNLOAD_TIMEOUT_MS),
  });
  if (!answer.ok) throw new Error(`the Go module proxy answers ${answer.status} for ${file}`);
  const bytes = Buffer.from(await answer.arrayBuffer());
  const actual = createHash("sha256").update(bytes).digest("hex");
  if (actual !== sha256) throw new Error(`the SHA-256 of ${file} is ${actual}, not ${sha256}`);
  return bytes;
}

/** Under a lock that the kernel takes back from a process that ends: whoever waited for it finds the program there. */
async function build(go: string, { script, args, cwd }: Recipe, program: string): Promise<void> {
  await inTemporaryFolder(async (temporary) => {
    const unfinished = path.join(temporary, "unfinished");
    const folder = path.join(temporary, "work");
    fs.mkdirSync(folder);
    const command = `if [ ! -e "$0" ]; then { ${script}; } && mv "$3" "$0"; fi`;
    await run("flock", [`${program}.lock`, "sh", "-ec", command, program, go, folder, unfinished, ...args], {
      env: { CGO_ENABLED: "0" },
      timeoutMs: BUILD_TIMEOUT_MS,
      cwd,
    });
  });
}

async function inTemporaryFolder(use: (temporary: string) => Promise<void>): Promise<void> {
  fs.mkdirSync(FOLDER, { recursive: true });
  const temporary = fs.mkdtempSync(path.join(FOLDER, "unfinished-"));
  try {
    await use(temporary);
  } finally {
    fs.rmSync(temporary, { recursive: true, force: true });
  }
}

interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
  readonly timeoutMs: number;
}

/** @throws Error with the last line that the command wrote */
async function run(command: string, args: readonly string[], { env, cwd, timeoutMs }: RunOptions): Promise<void> {
  try {
    await promisify(execFile)(command, args, { env: { ...process.env, ...env }, cwd, timeout: timeoutMs });
  } catch (cause) {
    const stderr = cause instanceof Error && "stderr" in cause ? String(cause.stderr).trim() : "";
    const reason = stderr.split("\n").at(-1) ?? "";
    throw new Error(reason === "" ? `${command} failed` : reason, { cause });
  }
}
