/**
 * `npm run bench`: decant against what people use instead, on a corpus and servers of its own, and which goals hold (goals.ts).
 * `npm run bench -- --help` says what it takes. Prints the tables; every figure goes to bench/results as JSON, after each work.
 * Needs a quiet machine: no test depends on it.
 */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { benchmark } from "../cmd/bench/benchmark.ts";
import { processIo } from "../cmd/command-io.ts";
import type { CommandIo } from "../cmd/command-io.ts";
import { defaultThreads } from "../cmd/image-options.ts";
import { Interrupted } from "../importer/errors.ts";
import { consequences } from "../importer/outcome.ts";
import { cacheFolder, Corpus, FULL, QUICK } from "./corpus.ts";
import { goalTable, limitTable } from "./goal-table.ts";
import { chooseRows, DATA_ALONE, nameOf, ROWS } from "./goals.ts";
import type { Row } from "./goals.ts";
import { contendersBeside } from "./limits.ts";
import { pushDisk } from "./registry-image.ts";
import { Results } from "./result-file.ts";
import type { RunSettings } from "./result-file.ts";
import { withServers } from "./servers.ts";
import type { Servers } from "./servers.ts";
import { measureStartUp } from "./start-up.ts";
import { cannotBegin, judge } from "./verdict.ts";

const ROOT = path.dirname(import.meta.dirname);
const STARTS = 20;
const USAGE = `Usage: npm run bench -- [options]

Races decant with what else pours images, and says which goals hold.

  (no option)           a disk of 10 GiB, and others; an hour and more
  --quick               a disk of 1 GiB, fewer works, two minutes
  --only zlib,registry  works whose name contains one of these
  --runs 5              so many rounds that count instead of 3 (quick: 2); save from far away one more comes first
  --limits              with --quick too: what disk, decoder and network take by themselves
  --to /dev/shm         write there, where no disk hides what decant costs; default: beside the corpus
`;

interface Settings extends RunSettings {
  readonly rows: readonly Row[];
  /** Measured, too. */
  readonly withLimits: boolean;
}

// Debian keeps nginx and mkfs.ext4 where a user's PATH does not look.
process.env["PATH"] = [process.env["PATH"], "/usr/local/sbin", "/usr/sbin", "/sbin"].join(path.delimiter);
const settings = settingsOrHelp(process.argv.slice(2));
if (settings !== undefined) await main(settings);

/** Undefined: nothing is to be done, and why was said. */
function settingsOrHelp(args: readonly string[]): Settings | undefined {
  if (args.includes("--help") || args.includes("-h")) {
    process.stdout.write(USAGE);
    return undefined;
  }
  try {
    return readSettings(args);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    process.exitCode = 2;
    return undefined;
  }
}

function readSettings(args: readonly string[]): Settings {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string", default: "" },
      runs: { type: "string" },
      to: { type: "string" },
      limits: { type: "boolean" },
    },
  });
  const isQuick = values.quick;
  const runs = Number(values.runs ?? (isQuick ? 2 : 3));
  if (!Number.isInteger(runs) || runs < 1) throw new Error("--runs is a whole number");
  const rows = chooseRows(ROWS, isQuick, values.only.split(","));
  if (rows.length === 0) throw new Error(`no work is called ${values.only}: ${ROWS.map(nameOf).join(", ")}`);
  const command = ["npm run bench --", ...args].join(" ");
  const to = values.to === undefined ? undefined : path.resolve(values.to);
  const withLimits = values.limits ?? !isQuick;
  return { size: isQuick ? QUICK : FULL, rows, runs, to, withLimits, threads: defaultThreads(), command };
}

async function main(settings: Settings): Promise<void> {
  const { rows, to } = settings;
  const io = processIo();
  const corpus = new Corpus(settings.size, cacheFolder(process.env), say);
  for (const { image } of rows) corpus.make(image);
  const startUp = measureStartUp(path.join(ROOT, "bin", "decant"), STARTS);
  const results = new Results(path.join(ROOT, "bench", "results"), settings, startUp);
  process.chdir(corpus.folder); // so that files have short names
  const target = fs.mkdtempSync(path.join(to ?? corpus.folder, "decant-bench-"));
  try {
    const registry = path.join(corpus.folder, "registry");
    await withServers(corpus.folder, registry, new Set(rows.map(({ place }) => place)), async (servers) => {
      const stage: Stage = { settings, corpus, servers, registry, target: path.join(target, "target.raw"), io };
      const sources: string[] = []; // all that must be pushed, before anything is measured
      for (const row of rows) sources.push(await sourceOf(row, stage));
      for (const [at, row] of rows.entries()) {
        say(`${nameOf(row)}, ${at + 1} of ${rows.length}`);
        await raceRow(row, sources[at] ?? "", stage, results);
      }
    });
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
    process.exitCode = consequences.INTERRUPTED.exit;
  } finally {
    fs.rmSync(target, { recursive: true, force: true });
  }
  const { verdicts } = results;
  const file = path.relative(ROOT, results.save());
  const { columns } = io.stdout;
  io.stdout.write([goalTable(verdicts, startUp, columns), limitTable(verdicts), `${file}\n`].join("\n"));
}

interface Stage {
  readonly settings: Settings;
  readonly corpus: Corpus;
  readonly servers: Servers;
  /** The registry's folder. */
  readonly registry: string;
  readonly target: string;
  readonly io: CommandIo;
}

/** As decant and its peers are given it. */
async function sourceOf({ image, place }: Row, { corpus, servers, registry }: Stage): Promise<string> {
  if (place === "local") return image;
  if (place === "registry") return await pushDisk(servers.registry(), registry, corpus.make(image), say);
  return servers.urlOf(image, place);
}

/** @throws Interrupted */
async function raceRow(row: Row, name: string, stage: Stage, results: Results): Promise<void> {
  const { corpus, target, io } = stage;
  const { size, threads, runs, withLimits, command } = stage.settings;
  const isFar = row.place === "http 20 ms"; // a peer takes minutes
  const disk = corpus.diskOf(row.image);
  const conditions = { threads, load: os.loadavg()[0] ?? 0 };
  const source = {
    name,
    expected: await corpus.digestOf(row.image),
    lines: size === QUICK || isFar ? [row.line] : undefined,
    more: contendersBeside(row, { threads, isDiskKept: disk !== undefined, withLimits }),
    variables: {
      FILE: corpus.make(row.image),
      DISK: disk ?? "",
      ALONE: row.line === DATA_ALONE ? corpus.make("plain.qcow2") : "",
    },
  };
  const warmup = isFar ? 0 : 1;
  const options = { sources: [source], to: target, runs, warmup, threads: [threads], peers: undefined, command };
  try {
    const report = await benchmark(options, io, say);
    const [work] = report.works;
    if (work === undefined) throw new Error("a benchmark of one source has one work");
    results.add(judge(row, work, conditions), work, report);
  } catch (error) {
    if (error instanceof Interrupted) throw error;
    results.add(cannotBegin(row, error instanceof Error ? error.message : String(error), conditions));
  }
}

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
