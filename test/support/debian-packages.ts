/**
 * Real images from Debian's packages, fetched when a test needs them and kept in a cache folder outside the checkout.
 *
 * apt-get fetches and checks them with package lists of its own, so that neither the machine's configuration nor root is
 * needed, and nothing is installed. Without apt-get or a network the answer is a reason to skip.
 */
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

/** The release whose packages the tests know. */
const SUITE = "bookworm";
const MIRROR = "http://deb.debian.org/debian";
const KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg";
const FETCH_TIMEOUT_MS = 3 * 60 * 1000;

const FOLDER = path.join(process.env["XDG_CACHE_HOME"] ?? path.join(os.homedir(), ".cache"), "decant-tests", SUITE);

export interface Fetched {
  /** Why there is nothing to test with; for `describe(name, { skip }, …)`. */
  readonly skip: false | string;
  /** The path of a file; only of use where `skip` is false. */
  path(file: string): string;
}

/**
 * The files of binary packages, unpacked beside each other.
 * @throws Error instead of a reason to skip with CI=true
 */
export function fetchPackages(...names: readonly string[]): Fetched {
  const folder = path.join(FOLDER, "packages");
  return fetched(folder, () => {
    const missing = names.filter((name) => !fs.existsSync(doneMark(folder, name)));
    if (missing.length === 0) return;
    inDownloadFolder((downloads) => {
      aptGet(["download", ...missing], downloads);
      for (const name of missing) {
        const file = fs.readdirSync(downloads).find((entry) => entry.startsWith(`${name}_`)) ?? name;
        execFileSync("dpkg-deb", ["-x", path.join(downloads, file), folder]);
        fs.writeFileSync(doneMark(folder, name), file);
      }
    });
  });
}

/**
 * Files out of the upstream archive of a source package, without their folders.
 * @param pattern of tar, for instance `sample_images` with a wildcard on either side
 */
export function fetchSource(name: string, pattern: string): Fetched {
  const folder = path.join(FOLDER, `${name}-source`);
  return fetched(folder, () => {
    if (fs.existsSync(doneMark(folder, name))) return;
    inDownloadFolder((downloads) => {
      aptGet(["source", "--download-only", name], downloads);
      const archive = fs.readdirSync(downloads).find((entry) => entry.includes(".orig.tar."));
      if (archive === undefined) throw new Error(`the source of ${name} has no upstream archive`);
      const flatten = ["--no-anchored", "--wildcards", "--transform", "s,.*/,,", pattern];
      execFileSync("tar", ["-xf", path.join(downloads, archive), "-C", folder, ...flatten]);
      fs.writeFileSync(doneMark(folder, name), archive);
    });
  });
}

function fetched(folder: string, fetch: () => void): Fetched {
  const result = { path: (file: string) => path.join(folder, file) };
  try {
    fs.mkdirSync(folder, { recursive: true });
    fetch();
    return { ...result, skip: false };
  } catch (cause) {
    const reason = `needs apt-get and ${MIRROR}: ${cause instanceof Error ? cause.message.split("\n")[0] : "failed"}`;
    if (process.env["CI"] === "true")
      throw new Error(`CI=true allows no skipped test, and this one ${reason}`, { cause });
    return { ...result, skip: reason };
  }
}

function doneMark(folder: string, name: string): string {
  return path.join(folder, `.${name}.fetched`);
}

function inDownloadFolder(use: (downloads: string) => void): void {
  const downloads = fs.mkdtempSync(path.join(FOLDER, "download-"));
  try {
    use(downloads);
  } finally {
    fs.rmSync(downloads, { recursive: true, force: true });
  }
}

/** Runs apt-get in `downloads`, with nothing of the machine's but its keys and its proxy. */
function aptGet(args: readonly string[], downloads: string): void {
  const state = path.join(downloads, "apt");
  fs.mkdirSync(path.join(state, "lists", "partial"), { recursive: true });
  fs.mkdirSync(path.join(state, "archives", "partial"), { recursive: true });
  const sources = path.join(state, "sources.list");
  fs.writeFileSync(
    sources,
    ["deb", "deb-src"].map((kind) => `${kind} [signed-by=${KEYRING}] ${MIRROR} ${SUITE} main\n`).join(""),
  );
  const options = {
    "Dir::Etc::SourceList": sources,
    "Dir::Etc::SourceParts": "-",
    "Dir::State::Lists": path.join(state, "lists"),
    "Dir::Cache": state,
    "Acquire::Languages": "none",
    // Otherwise apt-get hands its folders to another user, who cannot enter ours.
    "APT::Sandbox::User": "root",
  };
  const flags = Object.entries(options).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
  for (const command of [["update"], args]) {
    execFileSync("apt-get", ["-q", ...flags, ...command], { cwd: downloads, stdio: "pipe", timeout: FETCH_TIMEOUT_MS });
  }
}
