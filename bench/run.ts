/**
 * `npm run bench`: decant against what people use instead, on the same files, in the same run, taking turns.
 *
 *   npm run bench                        a 10 GiB disk that holds 0.75 GB
 *   npm run bench -- --quick             a disk of 1 GiB
 *   npm run bench -- --only zlib,vmdk    images whose name contains one of these
 *   npm run bench -- --runs 5            so many rounds instead of 3; one more comes first and is not counted
 *
 * Prints a table; every figure goes to bench/results as JSON. Needs a quiet machine: no test depends on it.
 */
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { cacheFolder, FULL, makeCorpus, QUICK } from "./corpus.ts";
import type { Corpus, Image } from "./corpus.ts";
import { measure } from "./measure.ts";
import type { Measurement } from "./measure.ts";
import { contendersFor } from "./peers.ts";
import { resultsTable } from "./results.ts";
import type { Race, Results } from "./results.ts";

const ROOT = path.dirname(import.meta.dirname);

await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string", default: "" },
      runs: { type: "string", default: "3" },
    },
  });
  const rounds = Number(values.runs);
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error("--runs is a whole number");
  const started = new Date().toISOString();
  const size = values.quick ? QUICK : FULL;
  const corpus = makeCorpus(size, cacheFolder(process.env), say);
  const facts = machine(corpus.folder); // before the races: its load should be none
  const races: Race[] = [];
  for (const image of corpus.images) {
    if (!values.only.split(",").some((part) => image.name.includes(part))) continue;
    races.push(await race(image, corpus, rounds));
  }
  const results: Results = {
    command: ["npm run bench --", ...args].join(" "),
    started,
    machine: facts,
    versions: versions(),
    corpus: { virtualSize: size.virtualSize, contentBytes: size.contentBytes },
    races,
  };
  const file = path.join(ROOT, "bench", "results", `${started.replaceAll(":", "").slice(0, 17)}-${size.name}.json`);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, `${JSON.stringify(results, undefined, 2)}\n`);
  console.log(`${resultsTable(races)}\n\n${path.relative(ROOT, file)}`);
}

/** All contenders in turns, A B C A B C, so that what the machine does meanwhile hits all alike. */
async function race(image: Image, corpus: Corpus, rounds: number): Promise<Race> {
  const contenders = contendersFor(image.name, hasTool);
  const runs = contenders.map((): Measurement[] => []);
  const target = path.join(corpus.folder, "target.raw");
  for (let round = 0; round <= rounds; round++) {
    for (const [at, { name, line }] of contenders.entries()) {
      fs.rmSync(target, { force: true });
      execFileSync("sync", ["-f", corpus.folder]);
      say(`${image.name}: ${name}`);
      const run = await measure(line, { SOURCE: image.path, TARGET: target }, ROOT);
      if (round === 0) checkContent(image, corpus, target, name);
      else runs[at]?.push(run);
    }
  }
  fs.rmSync(target, { force: true });
  const entries = contenders.map(({ name, line }, at) => ({ contender: name, line, runs: runs[at] ?? [] }));
  return { image: image.name, storedBytes: image.storedBytes, entries };
}

/** A contender that writes something else has won nothing. Sizes may differ by zeros: a VHD's is a multiple of its geometry. */
function checkContent(image: Image, corpus: Corpus, target: string, contender: string): void {
  const expected = image.name.startsWith("empty") ? ["qcow2", image.path] : ["raw", corpus.raw];
  try {
    execFileSync("qemu-img", ["compare", "-q", "-f", expected[0] ?? "", "-F", "raw", expected[1] ?? "", target]);
  } catch (cause) {
    throw new Error(`${contender} made another disk of ${image.name}`, { cause });
  }
}

function machine(folder: string): Results["machine"] {
  return {
    cpu: os.cpus()[0]?.model ?? "unknown",
    cores: os.availableParallelism(),
    memoryBytes: os.totalmem(),
    kernel: `${os.type()} ${os.release()} ${os.arch()}`,
    filesystem: firstLine("stat", "-f", "-c", "%T", folder),
    load: os
      .loadavg()
      .map((load) => load.toFixed(1))
      .join(" "),
  };
}

function versions(): Results["versions"] {
  return {
    decant: firstLine("git", "-C", ROOT, "describe", "--always", "--dirty"),
    node: process.version,
    "qemu-img": firstLine("qemu-img", "--version"),
    zstd: firstLine("zstd", "--version"),
    xz: firstLine("xz", "--version"),
    igzip: firstLine("igzip", "--version"),
  };
}

function firstLine(command: string, ...args: string[]): string {
  try {
    return execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).split("\n")[0] ?? "";
  } catch {
    return "not installed";
  }
}

function hasTool(name: string): boolean {
  const folders = (process.env["PATH"] ?? "").split(path.delimiter);
  return folders.some((folder) => fs.existsSync(path.join(folder, name)));
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
