/**
 * Races decant and its peers over one source: in turns, A B A B, so that what the machine does meanwhile hits all alike; each
 * from the same start, each to the same kind of sink. A disk that differs from decant's is a row that says so, as is a line
 * that fails.
 */
import fs from "node:fs";
import path from "node:path";
import { figuresOf } from "./bench-report.ts";
import type { Entry, LeftOut, Run, Verdict, Work } from "./bench-report.ts";
import { decantWith, ownFailure, ownFigures, readProgress } from "./decant-contender.ts";
import { LineFailed, measure } from "./measure.ts";
import type { Measurement } from "./measure.ts";
import { openMemoryGroup } from "./memory-group.ts";
import type { Contender } from "./peers.ts";
import { Samples } from "./samples.ts";
import { allocatedBelow, fileSink } from "./sink.ts";
import type { Sink } from "./sink.ts";

export interface RaceOptions {
  readonly sink: Sink;
  /** Empty, and for this race only. */
  readonly scratch: string;
  /** Rounds that count, and rounds before them that do not. */
  readonly runs: number;
  readonly warmup: number;
  /** The program's launcher. */
  readonly decant: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  /** Digest of what every disk must hold; undefined: what decant writes. */
  readonly expected?: string | undefined;
  readonly say: (text: string) => void;
}

export interface Racer {
  /** As it is given to programs; it may hold a password. */
  readonly name: string;
  readonly work: Pick<Work, "source" | "wrappers" | "format" | "storedBytes" | "virtualSize">;
  readonly peers: readonly Contender[];
  readonly leftOut: readonly LeftOut[];
  /** Each is decant once more. */
  readonly threads: readonly number[];
}

/** What a row can show of the words of a program that failed. */
const MAX_FAILURE = 200;

/** @throws Interrupted */
export async function race(racer: Racer, options: RaceOptions): Promise<Work> {
  const lanes = [...racer.threads.map((count) => decantWith(count, options.sink.kind)), ...racer.peers].map(
    (contender) => new Lane(contender),
  );
  const course = new Course(racer, options);
  if (options.sink.kind === "null") await course.compareInFiles(lanes);
  for (let round = -options.warmup; round < options.runs; round++) {
    for (const lane of lanes) {
      if (lane.failure !== null) continue;
      const count = round < 0 ? "warming up" : `run ${round + 1} of ${options.runs}`;
      options.say(`${racer.work.source}: ${lane.contender.name}, ${count}`);
      const run = await course.run(lane);
      if (run !== undefined && round >= 0) lane.runs.push(run);
    }
  }
  const work = { ...racer.work, virtualSize: course.virtualSize, leftOut: racer.leftOut };
  const reference = lanes[0]?.runs ?? [];
  return { ...work, entries: lanes.map((lane) => lane.entry(reference, work)) };
}

/** One contender, and how it fares. */
class Lane {
  readonly contender: Contender;
  readonly runs: Run[] = [];
  failure: string | null = null;
  verdict: Verdict = "not-compared";

  constructor(contender: Contender) {
    this.contender = contender;
  }

  entry(reference: readonly Run[], work: Pick<Work, "storedBytes" | "virtualSize">): Entry {
    const { name, peer, line } = this.contender;
    const { runs, failure, verdict } = this;
    return { name, peer, command: line, verdict, failure, runs, figures: figuresOf(runs, reference, work) };
  }
}

class Course {
  /** Once somebody knows it. */
  virtualSize: number | null;
  readonly #racer: Racer;
  readonly #options: RaceOptions;
  #expected: string | undefined;

  constructor(racer: Racer, options: RaceOptions) {
    this.#racer = racer;
    this.#options = options;
    this.virtualSize = racer.work.virtualSize;
    this.#expected = options.expected;
  }

  /** A sink that keeps nothing says nothing of what was written: once, all write a file. */
  async compareInFiles(lanes: readonly Lane[]): Promise<void> {
    const folder = path.join(this.#options.scratch, "compared");
    fs.mkdirSync(folder);
    const sink = fileSink(path.join(folder, "disk.raw"));
    for (const lane of lanes.filter(({ contender }) => contender.writesDisk)) {
      this.#options.say(`${this.#racer.work.source}: ${lane.contender.name}, to compare what is written`);
      await this.run(lane, sink);
    }
    fs.rmdirSync(folder);
  }

  /** Undefined: it failed, and the lane says why. @throws Interrupted */
  async run(lane: Lane, sink = this.#options.sink): Promise<Run | undefined> {
    const scratch = path.join(this.#options.scratch, "scratch");
    fs.mkdirSync(scratch);
    try {
      sink.prepare();
      const { run, measured } = await this.#measure(lane.contender, sink, scratch);
      const own = lane.contender.peer === "decant" ? ownFigures(measured.stdout) : null;
      this.virtualSize ??= own?.virtualSize ?? null;
      if (lane.contender.writesDisk) await this.#compare(lane, sink);
      return { ...run, own };
    } catch (error) {
      if (!(error instanceof LineFailed)) throw error;
      lane.failure = this.#failureText(error);
      return undefined;
    } finally {
      sink.clear();
      fs.rmSync(scratch, { recursive: true, force: true });
    }
  }

  async #measure(
    { line, fileLine }: Contender,
    sink: Sink,
    scratch: string,
  ): Promise<{ run: Omit<Run, "own">; measured: Measurement }> {
    const { env, signal, decant } = this.#options;
    const group = openMemoryGroup();
    let scratchBytes = 0;
    const watch = (): number => {
      scratchBytes = Math.max(scratchBytes, allocatedBelow(scratch));
      return sink.bytesWritten() + scratchBytes;
    };
    const variables = {
      DECANT: decant,
      SOURCE: this.#racer.name,
      TARGET: sink.target,
      SCRATCH: scratch,
      SIZE: String(this.virtualSize ?? 0),
    };
    const keeps = sink.kind !== "null";
    const progress = new Samples();
    const heard = keeps ? undefined : (text: string, at: number): void => readProgress(text, at, progress);
    const chosen = sink === this.#options.sink ? line : fileLine;
    try {
      const measured = await measure(chosen, variables, scratch, { env, signal, watch, heard, group });
      const { seconds, cpuSeconds, peakRssBytes, groupPeakBytes = null } = measured;
      const [bytesWritten, samples] = keeps ? [watch(), measured.samples] : [null, progress.list];
      return { run: { seconds, cpuSeconds, peakRssBytes, groupPeakBytes, bytesWritten, samples }, measured };
    } finally {
      group?.close();
    }
  }

  /** Once different, always different. */
  async #compare(lane: Lane, sink: Sink): Promise<void> {
    const digest = await sink.digest(this.virtualSize ?? Infinity);
    if (digest === undefined || lane.verdict === "different") return;
    this.#expected ??= lane.contender.peer === "decant" ? digest : undefined;
    if (this.#expected !== undefined) lane.verdict = digest === this.#expected ? "same" : "different";
  }

  /** Without the source's name, which may hold a password. */
  #failureText({ status, stdout, stderr }: LineFailed): string {
    const said = (ownFailure(stdout) ?? lastLine(stderr)).replaceAll(this.#racer.name, this.#racer.work.source);
    const end = status === null ? "killed" : `status ${status}`;
    return said === "" ? end : `${end}: ${said.replaceAll(/\p{Cc}/gu, " ").slice(0, MAX_FAILURE)}`;
  }
}

/** What a program says at its end. */
function lastLine(text: string): string {
  return text.trimEnd().split("\n").at(-1) ?? "";
}
