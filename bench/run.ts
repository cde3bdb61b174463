/**
 * `npm run bench`: decant against what people use instead, on a corpus of its own: `decant bench` with files that it makes.
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
import path from "node:path";
import { parseArgs } from "node:util";
import { benchmark } from "../cmd/bench/benchmark.ts";
import type { BenchSource } from "../cmd/bench/benchmark.ts";
import { digestContent } from "../cmd/bench/content-digest.ts";
import { resultTable } from "../cmd/bench/result-table.ts";
import { processIo } from "../cmd/command-io.ts";
import { defaultThreads } from "../cmd/image-options.ts";
import { cacheFolder, FULL, makeCorpus, QUICK } from "./corpus.ts";
import type { Corpus, Image } from "./corpus.ts";

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
  const runs = Number(values.runs);
  if (!Number.isInteger(runs) || runs < 1) throw new Error("--runs is a whole number");
  const size = values.quick ? QUICK : FULL;
  const corpus = makeCorpus(size, cacheFolder(process.env), say);
  const wanted = values.only.split(",");
  const images = corpus.images.filter(({ name }) => wanted.some((part) => name.includes(part)));
  const options = {
    sources: await Promise.all(images.map(async (image) => await toSource(image, corpus))),
    to: path.join(corpus.folder, "target.raw"),
    runs,
    warmup: 1,
    threads: [defaultThreads()],
    peers: undefined,
    command: ["npm run bench --", ...args].join(" "),
  };
  const io = processIo();
  const report = await benchmark(options, io, say);
  const file = path.join(
    ROOT,
    "bench",
    "results",
    `${report.started.replaceAll(":", "").slice(0, 17)}-${size.name}.json`,
  );
  fs.mkdirSync(path.dirname(file), { recursive: true });
  const { virtualSize, contentBytes } = size;
  const results = { ...report, revision: revision(), corpus: { virtualSize, contentBytes } };
  fs.writeFileSync(file, `${JSON.stringify(results, undefined, 2)}\n`);
  io.stdout.write(`${resultTable(report, io.stdout.columns)}\n${path.relative(ROOT, file)}\n`);
}

/** Whoever pours it must write the disk that the corpus was made of, decant included. */
async function toSource(image: Image, corpus: Corpus): Promise<BenchSource> {
  const length = image.name.startsWith("empty") ? 0 : Infinity;
  return { name: image.path, expected: await digestContent(corpus.raw, length) };
}

function revision(): string {
  return execFileSync("git", ["-C", ROOT, "describe", "--always", "--dirty"], { encoding: "utf8" }).trim();
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
