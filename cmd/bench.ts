/**
 * decant bench: races decant with what people use instead, on the same sources, in turns.
 */
import fs from "node:fs";
import path from "node:path";
import { InvalidArgumentError, Option } from "commander";
import { toTargetError, UsageError } from "../importer/errors.ts";
import { EXIT_OK } from "../importer/outcome.ts";
import type { BenchReport } from "./bench/bench-report.ts";
import { benchmark } from "./bench/benchmark.ts";
import { PEER_NAMES } from "./bench/peers.ts";
import { resultTable } from "./bench/result-table.ts";
import type { CommandIo } from "./command-io.ts";
import { HELP_SHOWN, newCommand, parseCommand } from "./command-line.ts";
import { report } from "./report-error.ts";
import { defaultThreads, exitCodesHelp, MAX_THREADS_ASKED } from "./image-options.ts";

interface BenchOptions {
  readonly runs: number;
  readonly warmup: number;
  readonly threads?: readonly number[];
  readonly to: string;
  readonly peers: readonly string[] | "auto" | "none";
  readonly json?: string;
  readonly html?: string;
}

/** A decant that failed, or an output that differs. */
const EXIT_UNEQUAL = 1;

const MAX_ROUNDS = 1000;

const HELP = `Peers: ${PEER_NAMES.join(", ")}. Those take part that are installed and can read the
source; the others are named, with the reason. All write to the same target, one after the other, and are through when it
is safely on the disk; what they wrote is compared each time. The target is a new file, which is removed at the end, a
device, whose contents are lost, or null:, where all write a temporary file once, to be compared.

Memory is measured from outside, with all processes of a line: the peak of what is resident, and what the kernel would
charge a container for, where a control group can be made. A figure counts on a quiet machine only.

Examples:
  decant bench disk.qcow2
  decant bench --to /mnt/test/disk.raw --html result.html disk.qcow2 disk.vmdk
  decant bench --threads 1,2,4 --peers none --to /dev/vg0/test https://images.corp/disk.qcow2

${exitCodesHelp()}
1 stands also for outputs that differ.
`;

export async function run(args: readonly string[], io: CommandIo): Promise<number> {
  try {
    return await runBenchmark(args, io);
  } catch (error) {
    // Here --json names a file, and does not ask for errors as JSON.
    return report(error, io, false);
  }
}

async function runBenchmark(args: readonly string[], io: CommandIo): Promise<number> {
  const command = newCommand("bench", "Races decant with what else pours images.", HELP, io)
    .argument("<source...>", "images to read: as for convert, but not -")
    .option("--runs <n>", "rounds that count", rounds(1), 5)
    .option("--warmup <n>", "rounds before them that do not", rounds(0), 1)
    .addOption(
      new Option("--threads <list>", "decant's threads; several, as 1,2,4: it takes part with each").argParser(threads),
    )
    .option("--to <target>", "where all of them write to: a new file, a block device, or null:", "null:")
    .addOption(new Option("--peers <list>", "auto, none, or some of them").default("auto").argParser(peers))
    .option("--json <file>", "write all figures to it")
    .option("--html <file>", "draw them on a page");
  if (parseCommand(command, args) === HELP_SHOWN) return EXIT_OK;
  const options = command.opts<BenchOptions>();
  const files = [options.json, options.html].filter((file) => file !== undefined);
  files.forEach(checkFolder);
  const say = talk(io);
  const { runs, warmup, to } = options;
  const result = await benchmark(
    {
      sources: command.args.map((name) => ({ name })),
      to,
      runs,
      warmup,
      threads: options.threads ?? [defaultThreads()],
      peers: options.peers === "auto" ? undefined : options.peers === "none" ? [] : options.peers,
      command: commandText(options, command.args.length),
    },
    io,
    say,
  ).finally(() => say(undefined));
  io.stdout.write(resultTable(result, io.stdout.columns)); // first: the files may not be to be had any more
  if (options.json !== undefined) writeReport(options.json, `${JSON.stringify(result, undefined, 2)}\n`);
  if (options.html !== undefined) {
    const { resultPage } = await import("./bench/result-page.ts");
    writeReport(options.html, resultPage(result));
  }
  return isEqual(result) ? EXIT_OK : EXIT_UNEQUAL;
}

/** Nobody's disk is another, and decant came to its end. */
function isEqual({ works }: BenchReport): boolean {
  const entries = works.flatMap((work) => work.entries);
  return entries.every(
    ({ peer, verdict, failure }) => verdict !== "different" && (peer !== "decant" || failure === null),
  );
}

/** Without the names of the sources: each is told in its place, and may hold a password here. */
function commandText(options: BenchOptions, sources: number): string {
  const { runs, warmup, to } = options;
  const own = options.threads === undefined ? "" : ` --threads ${options.threads.join(",")}`;
  const names = typeof options.peers === "string" ? options.peers : options.peers.join(",");
  const over = sources === 1 ? "one source" : `${sources} sources`;
  return `decant bench --runs ${runs} --warmup ${warmup}${own} --to ${to} --peers ${names}, over ${over}`;
}

function rounds(least: number): (text: string) => number {
  return (text) => {
    const count = Number(text);
    if (/^\d+$/.test(text) && count >= least && count <= MAX_ROUNDS) return count;
    throw new InvalidArgumentError(`It is a whole number from ${least} to ${MAX_ROUNDS}.`);
  };
}

function threads(text: string): number[] {
  return text.split(",").map((part) => {
    const count = Number(part);
    if (/^\d+$/.test(part) && count >= 1 && count <= MAX_THREADS_ASKED) return count;
    throw new InvalidArgumentError(`They are whole numbers from 1 to ${MAX_THREADS_ASKED}, with commas between.`);
  });
}

function peers(text: string): BenchOptions["peers"] {
  if (text === "auto" || text === "none") return text;
  const names = text.split(",");
  const unknown = names.find((name) => !PEER_NAMES.includes(name));
  if (unknown === undefined) return names;
  throw new InvalidArgumentError(`"${unknown}" is none of ${PEER_NAMES.join(", ")}.`);
}

/** An hour of work would have nowhere to go. */
function checkFolder(file: string): void {
  if (!fs.existsSync(path.dirname(path.resolve(file)))) throw new UsageError(`there is no directory for ${file}`);
}

function writeReport(file: string, text: string): void {
  try {
    fs.writeFileSync(file, text);
  } catch (error) {
    throw toTargetError(error, "write", file);
  }
}

/** One line that is written over on a terminal, lines elsewhere. Undefined: all is said. */
function talk(io: CommandIo): (text: string | undefined) => void {
  const { stderr } = io;
  return (text) => {
    const line = text?.replaceAll(/\p{Cc}/gu, "?");
    if (stderr.isTTY) stderr.write(`\r\x1b[K${line?.slice(0, stderr.columns - 1) ?? ""}`);
    else if (line !== undefined) stderr.write(`${line}\n`);
  };
}
