/**
 * `npm test`: what it takes to run every test, and then `node --test` over them.
 *
 *   npm test                                        all of test/, except test/slow
 *   npm test -- test/formats                        a folder, or a file
 *   npm test -- test/formats --test-name-pattern=qcow2  options of node --test are passed on
 *
 * Many tests compare with other tools. As root on Debian the missing ones are installed first. Elsewhere it is said which
 * files will skip tests, and which one command would bring the tools. With CI=true a test that would be skipped fails.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { goProgram, goProgramsNamedIn } from "./support/go-programs.ts";
import { missingPackages, toolsNamedIn } from "./support/tools.ts";

// Debian keeps mkfs, losetup and others here, where a user's PATH does not look.
const SYSTEM_FOLDERS = ["/usr/local/sbin", "/usr/sbin", "/sbin"];
const INSTALL = ["install", "-y", "-q", "--no-install-recommends"];
const INSTALL_TIMEOUT_MS = 10 * 60 * 1000;
// A test that hangs fails, after more time than any test takes on a slow machine.
const TEST_TIMEOUT_MS = 15 * 60 * 1000;
// Each needs hours, a cluster or a quiet machine, and has its own command.
const NOT_BY_DEFAULT = ["test/slow/", "test/cluster/"];

process.chdir(path.dirname(import.meta.dirname));
process.env["PATH"] = [process.env["PATH"], ...SYSTEM_FOLDERS].join(path.delimiter);
process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  const options = args.filter((arg) => arg.startsWith("-"));
  const places = args.filter((arg) => !arg.startsWith("-"));
  const files = testFiles(places);
  if (files.length === 0) {
    console.error(`no test file in ${places.join(", ")}`);
    return 2;
  }
  if (!bringTools(files) || !(await buildPrograms(files))) return 1;
  const { status, signal, error } = spawnSync(
    process.execPath,
    [
      "--test",
      `--test-concurrency=${os.availableParallelism()}`,
      `--test-timeout=${TEST_TIMEOUT_MS}`,
      ...options,
      ...files,
    ],
    { stdio: "inherit" },
  );
  if (error !== undefined) throw error;
  if (signal !== null) console.error(`node --test was ended by ${signal}`);
  return status ?? 1;
}

function testFiles(places: readonly string[]): string[] {
  const all = globSync("test/**/*.test.ts").sort();
  if (places.length === 0) return all.filter((file) => !NOT_BY_DEFAULT.some((folder) => file.startsWith(folder)));
  const wanted = places.map((place) => path.relative(".", path.resolve(place)));
  return all.filter((file) => wanted.some((place) => file === place || file.startsWith(`${place}/`)));
}

/** Installs what is missing, or says what its absence means; false if it had to be installed and could not be. */
function bringTools(files: readonly string[]): boolean {
  const missing = missingPackages();
  if (missing.length === 0) return true;
  if (process.getuid?.() === 0 && hasAptGet()) return install(missing);
  const command = `${process.getuid?.() === 0 ? "" : "sudo "}apt-get ${INSTALL.join(" ")} ${missing.join(" ")}`;
  console.error(`Some tools that tests compare with are not installed. Tests in these files will be skipped:`);
  for (const file of files) {
    const reason = whySkipped(readFileSync(file, "utf8"), missing);
    if (reason !== "") console.error(`  ${file}: ${reason}`);
  }
  console.error(`This command enables them (on Debian):\n  ${command}\n`);
  return true;
}

/** Builds what is not in the cache yet, so that no single test waits for it; false if it had to be and could not. */
async function buildPrograms(files: readonly string[]): Promise<boolean> {
  try {
    for (const name of new Set(files.flatMap((file) => goProgramsNamedIn(readFileSync(file, "utf8"))))) {
      const { skip } = await goProgram(name, () => console.error(`building ${name}; the first time takes minutes`));
      if (skip !== false) console.error(`tests are skipped: ${skip}`);
    }
    return true;
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    return false;
  }
}

function whySkipped(source: string, missing: readonly string[]): string {
  const needs = toolsNamedIn(source).filter((tool) => missing.includes(tool.packageName));
  const reasons = needs.map((tool) => tool.name);
  if (process.getuid?.() !== 0 && /requireRoot\(|requireLoopDevices\(/.test(source)) reasons.push("root");
  return reasons.length === 0 ? "" : `needs ${reasons.join(", ")}`;
}

function hasAptGet(): boolean {
  return spawnSync("apt-get", ["--version"], { stdio: "ignore" }).status === 0;
}

function install(packages: readonly string[]): boolean {
  console.error(`installing what tests compare with: ${packages.join(" ")}`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const aptGet = (...args: string[]) =>
    execFileSync("apt-get", args, { env, timeout: INSTALL_TIMEOUT_MS, stdio: ["ignore", "pipe", "pipe"] });
  try {
    aptGet("update", "-q");
    aptGet(...INSTALL, ...packages);
    return true;
  } catch (error) {
    console.error(`apt-get failed: ${error instanceof Error ? error.message : String(error)}`);
    console.error("the tests that need these tools are skipped");
    return process.env["CI"] !== "true";
  }
}
