/**
 * A whole benchmark: looks at the sources, finds who can pour them, and races all of them, one source after the other.
 */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { FormatError } from "../../formats/errors.ts";
import type { FormatErrorCode } from "../../formats/errors.ts";
import { UsageError } from "../../importer/errors.ts";
import { isHttpUrl } from "../../importer/sources/open-source.ts";
import type { CommandIo } from "../command-io.ts";
import { inspect } from "../inspect.ts";
import type { Inspection } from "../inspect.ts";
import type { BenchReport } from "./bench-report.ts";
import { describeMachine, describeVersions, isOnPath } from "./machine.ts";
import { choosePeers, PEER_TOOLS } from "./peers.ts";
import type { Contender, Subject } from "./peers.ts";
import { race } from "./race.ts";
import type { Racer } from "./race.ts";
import { openSink } from "./sink.ts";
import type { Sink } from "./sink.ts";

export interface BenchmarkOptions {
  readonly sources: readonly BenchSource[];
  /** Target for all: `null:`, a new file, a device. */
  readonly to: string;
  readonly runs: number;
  readonly warmup: number;
  /** For each, decant takes part once. */
  readonly threads: readonly number[];
  /** Names of peers; undefined: all. */
  readonly peers: readonly string[] | undefined;
  /** As it is shown. */
  readonly command: string;
}

export interface BenchSource {
  readonly name: string;
  /** Digest of its disk (content-digest.ts), where somebody knows better than decant. */
  readonly expected?: string | undefined;
  /** The peers' lines that run, by their names; undefined: all. */
  readonly lines?: readonly string[] | undefined;
  /** Who else takes part, behind the peers. */
  readonly more?: readonly Contender[];
  /** What the lines of those refer to. */
  readonly variables?: Readonly<Record<string, string>>;
}

/** @throws UsageError, FormatError, SourceError before the first run; Interrupted */
export async function benchmark(
  options: BenchmarkOptions,
  io: CommandIo,
  say: (text: string) => void,
): Promise<BenchReport> {
  const { signal, env } = io; // before there is anything to clean up
  const started = new Date().toISOString();
  const sink = openSink(
    options.to,
    options.sources.map(({ name }) => name).filter((name) => placeOf(name) === "file"),
  );
  const racers: (Racer & BenchSource)[] = [];
  for (const source of options.sources) racers.push({ ...source, ...(await findRacer(source, sink, options, io)) });
  const folder = sink.kind === "file" ? path.dirname(sink.target) : os.tmpdir();
  const machine = describeMachine(sink.kind === "null" ? undefined : folder); // its load should be none
  const works = [];
  const temporary = fs.mkdtempSync(path.join(folder, "decant-bench-"));
  try {
    for (const racer of racers) {
      const scratch = path.join(temporary, String(works.length));
      fs.mkdirSync(scratch);
      const { runs, warmup } = options;
      const { expected, variables = {} } = racer;
      const rules = { sink, scratch, runs, warmup, decant: launcher(), signal, expected, say };
      works.push(await race(racer, { ...rules, env: { ...env, ...variables } }));
    }
  } finally {
    sink.clear();
    fs.rmSync(temporary, { recursive: true, force: true });
  }
  const { command, to, runs, warmup } = options;
  const versions = { node: process.version, ...describeVersions(PEER_TOOLS, env["PATH"] ?? "") };
  return { command, started, machine, versions, sink: to, runs, warmup, works };
}

async function findRacer(
  { name, lines, more = [] }: BenchSource,
  sink: Sink,
  options: BenchmarkOptions,
  io: CommandIo,
): Promise<Racer> {
  if (name === "-") throw new UsageError("standard input passes once, and cannot be raced over");
  const inspection = await inspect(name, {}, io);
  if (inspection.refused !== null) {
    const { code, message } = inspection.refused;
    throw new FormatError(code as FormatErrorCode, `decant refuses ${inspection.source}: ${message}`);
  }
  const { source, wrappers, format, storedSize, virtualSize } = inspection;
  const subject = toSubject(name, inspection);
  const hasTool = (tool: string): boolean => isOnPath(tool, io.env["PATH"] ?? "");
  const { contenders, leftOut } = choosePeers(subject, sink.kind, options.peers, hasTool);
  return {
    // A path that begins with a dash is an option to some, one with a colon a protocol.
    name: subject.place === "file" ? path.resolve(name) : name,
    work: { source, wrappers, format: format ?? "raw", storedBytes: storedSize, virtualSize },
    peers: [...contenders.filter((one) => lines?.includes(one.name) ?? true), ...more],
    leftOut,
    threads: options.threads,
  };
}

function toSubject(name: string, { wrappers, format, virtualSize }: Inspection): Subject {
  const isLoopback = /^docker:\/\/(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?\//.test(name);
  return { place: placeOf(name), isLoopback, wrappers, format: format ?? "raw", virtualSize };
}

function placeOf(name: string): Subject["place"] {
  if (isHttpUrl(name)) return "http";
  if (/^docker:\/\//i.test(name)) return "registry";
  if (/^oci-archive:/i.test(name)) return "oci-archive";
  return /^[a-z][a-z0-9+.-]+:\/\//i.test(name) ? "elsewhere" : "file";
}

/** The program as its users start it. What was built lies in one folder, not in two, and what is two above it is not ours. */
function launcher(): string {
  const places = ["../bin/decant", "../../bin/decant"].map((place) => path.resolve(import.meta.dirname, place));
  const found = places.find((place) => fs.existsSync(place));
  if (found === undefined) throw new Error(`there is no ${places.join(", and no ")}`);
  return found;
}
