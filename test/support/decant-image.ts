/**
 * The container image of the Dockerfile, built as README.md says it is, on a bare Debian that debootstrap made.
 *
 * Base and layers are kept in a store outside the checkout, which is none of the machine's own: the first build takes minutes,
 * one after a change of the sources less than one. buildah works without a daemon; `--isolation chroot`
 * needs no user namespaces and no network of its own. What the machine needs to reach mirrors (proxies, certificates) goes in
 * as build secrets, so nothing of it is in the image.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { ROOT } from "./run-decant.ts";
import { withTemporaryFolder } from "./temporary-folder.ts";
import { requireRoot, requireTools } from "./tools.ts";

const SUITE = "bookworm";
const DEFAULT_MIRROR = "http://deb.debian.org/debian";
/** Named after what it holds; another recipe needs another name. */
export const BASE = `localhost/decant-base:${SUITE}-minbase-1`;
const IMAGE = "localhost/decant";
/** Their layers have a name, so that they outlive a clean-up. */
const STAGES = ["tools", "packages", "image-server", "build"];
/** Of a command that failed. */
const SHOWN_LINES = 20;
const BUILD_TIMEOUT_MS = 15 * 60 * 1000;

export const CACHE = path.join(
  process.env["XDG_CACHE_HOME"] ?? path.join(os.homedir(), ".cache"),
  "decant-tests",
  "containers",
);
/** Counts mounts, so it must not outlive a boot. */
const RUN_FOLDER = "/run/decant-tests";

/** The parts of an image's configuration that somebody relies on. */
export interface ImageConfig {
  readonly User: string;
  readonly Entrypoint: readonly string[];
  readonly Env: readonly string[];
  readonly Labels: Readonly<Record<string, string>>;
  readonly Healthcheck?: unknown;
}

export interface BuiltDecantImage {
  readonly config: ImageConfig;
  /** Calls `use` with the folder that holds its files. */
  withRoot<T>(use: (root: string) => Promise<T>): Promise<T>;
  /** Writes it to a file as `docker save` does, under a name. */
  save(file: string, name: string): Promise<void>;
}

/**
 * False if images can be built here, else the reason. Makes the base, if it is not there yet.
 * @throws Error instead of a reason to skip with CI=true
 */
export async function requireImageBase(): Promise<false | string> {
  const reason = requireRoot() || requireTools("buildah", "debootstrap");
  if (reason !== false) return reason;
  const buildah = await openStore();
  if (await succeeds(buildah, ["inspect", "--type", "image", BASE])) return false;
  try {
    await makeBase(buildah);
    return false;
  } catch (cause) {
    const text = `needs a mirror of Debian: ${cause instanceof Error ? cause.message : "failed"}`;
    if (process.env["CI"] !== "true") return text;
    throw new Error(`CI=true allows no skipped test, and this one ${text}`, { cause });
  }
}

/** @throws Error with the end of what the command wrote, if one fails */
export async function buildDecantImage(): Promise<BuiltDecantImage> {
  const buildah = await openStore();
  // Another checkout may give the name to an image of its own meanwhile.
  let id = IMAGE;
  await withTemporaryFolder(async (folder) => {
    const common = ["--layers", "--force-rm", "--build-arg", `BASE=${BASE}`, ...(await writeSecrets(folder)), "."];
    for (const stage of STAGES) await buildah("bud", "--target", stage, "-t", `${IMAGE}-${stage}`, ...common);
    const iidFile = path.join(folder, "id");
    await buildah("bud", "-t", IMAGE, "--iidfile", iidFile, ...common);
    id = readFileSync(iidFile, "utf8");
  });
  // Layers of earlier sources: hundreds of megabytes each time. Those of a run that was killed are in use for ever.
  await succeeds(buildah, ["rmi", "--prune"]);
  const { Docker } = JSON.parse(await buildah("inspect", "--type", "image", id)) as {
    readonly Docker: { readonly config: ImageConfig };
  };
  return {
    config: Docker.config,
    withRoot: async (use) => await withRoot(buildah, id, use),
    save: async (file, name) => void (await buildah("push", "-q", id, `docker-archive:${file}:${name}`)),
  };
}

type Buildah = (...args: readonly string[]) => Promise<string>;

async function withRoot<T>(buildah: Buildah, image: string, use: (root: string) => Promise<T>): Promise<T> {
  const container = await buildah("from", "--pull-never", image);
  try {
    return await use(await buildah("mount", container));
  } finally {
    await buildah("rm", container);
  }
}

/** With overlay where the kernel and the place allow it: vfs copies a gigabyte for each layer. */
async function openStore(): Promise<Buildah> {
  const withDriver = (driver: string): Buildah => {
    const store = path.join(CACHE, driver);
    mkdirSync(store, { recursive: true });
    const where = ["--root", store, "--runroot", path.join(RUN_FOLDER, driver), "--storage-driver", driver];
    return async (...args) => await run("buildah", [...where, ...args], { BUILDAH_ISOLATION: "chroot" });
  };
  const overlay = withDriver("overlay");
  return (await succeeds(overlay, ["info"])) ? overlay : withDriver("vfs");
}

async function makeBase(buildah: Buildah): Promise<void> {
  const root = mkdtempSync(path.join(CACHE, "debootstrap-"));
  try {
    await run("debootstrap", ["--variant=minbase", SUITE, root, await mirror()]);
    for (const left of ["var/cache/apt/archives", "var/lib/apt/lists", "var/log"]) {
      rmSync(path.join(root, left), { recursive: true });
      mkdirSync(path.join(root, left));
    }
    for (const left of ["etc/resolv.conf", "etc/hostname"]) rmSync(path.join(root, left), { force: true });
    const container = await buildah("from", "scratch");
    await buildah("add", "-q", container, root, "/");
    await buildah("commit", "-q", "--rm", container, BASE);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/** Where the machine itself has this release of Debian from. */
async function mirror(): Promise<string> {
  const format = ["--format", "$(LABEL) $(REPO_URI)", "Created-By: Packages", `Codename: ${SUITE}`];
  const places = (await run("apt-get", ["indextargets", ...format])).split("\n");
  const own = places.find((line) => line.startsWith("Debian "))?.slice("Debian ".length);
  return own?.replace(/\/+$/, "") ?? DEFAULT_MIRROR;
}

/** How the machine reaches mirrors and registries, for the build alone. */
async function writeSecrets(folder: string): Promise<string[]> {
  const settings = (await run("apt-config", ["dump"])).split("\n");
  const acquire = settings.filter((line) => /^Acquire::(?!IndexTargets|Changelogs)/.test(line));
  const npmrc = path.join(os.homedir(), ".npmrc");
  const registry = process.env["npm_config_registry"] ?? process.env["NPM_CONFIG_REGISTRY"];
  const certificates = process.env["NODE_EXTRA_CA_CERTS"];
  const secrets: Record<string, string | undefined> = {
    apt: acquire.join("\n"),
    npmrc: `${existsSync(npmrc) ? readFileSync(npmrc, "utf8") : ""}\n${registry === undefined ? "" : `registry=${registry}`}\n`,
    ca: certificates === undefined || !existsSync(certificates) ? undefined : readFileSync(certificates, "utf8"),
  };
  return Object.entries(secrets).flatMap(([id, text]) => {
    if (text === undefined) return [];
    const file = path.join(folder, id);
    writeFileSync(file, text, { mode: 0o600 });
    return ["--secret", `id=${id},src=${file}`];
  });
}

async function succeeds(buildah: Buildah, args: readonly string[]): Promise<boolean> {
  try {
    await buildah(...args);
    return true;
  } catch {
    return false;
  }
}

/**
 * @returns what it wrote to its standard output, without the end of the last line
 * @throws Error with the end of what it wrote to its standard error
 */
async function run(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const options = {
    cwd: ROOT,
    env: { ...process.env, ...env },
    timeout: BUILD_TIMEOUT_MS,
    maxBuffer: 64 * 1024 * 1024,
  };
  return await new Promise((resolve, reject) => {
    execFile(command, args, options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout.trimEnd());
      else reject(new Error(`${command} failed:\n${stderr.trimEnd().split("\n").slice(-SHOWN_LINES).join("\n")}`));
    });
  });
}
