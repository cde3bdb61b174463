/**
 * What a benchmark gave: what `--json` writes, and what the table and the page are made of. Sizes in bytes, times in seconds
 * where the name says nothing else.
 */
import type { ConvertResult } from "../convert.ts";
import type { Measurement } from "./measure.ts";
import type { Sample } from "./samples.ts";

export interface BenchReport {
  readonly command: string;
  /** ISO 8601. */
  readonly started: string;
  readonly machine: Readonly<Record<string, string | number>>;
  readonly versions: Readonly<Record<string, string>>;
  /** Where all of them wrote to. */
  readonly sink: string;
  readonly runs: number;
  /** Rounds that came first and do not count. */
  readonly warmup: number;
  readonly works: readonly Work[];
}

/** One source, and everybody who poured it. */
export interface Work {
  /** Safe to show. */
  readonly source: string;
  readonly wrappers: readonly string[];
  readonly format: string;
  readonly storedBytes: number | null;
  readonly virtualSize: number | null;
  /** decant's are the first; the ratios are to the first of all. */
  readonly entries: readonly Entry[];
  readonly leftOut: readonly LeftOut[];
}

/** A peer that does not take part. */
export interface LeftOut {
  readonly peer: string;
  readonly reason: string;
}

/**
 * `same`: the disk that it wrote is the one that decant wrote. `not-compared`: it writes no disk, or nobody had anything to
 * compare with.
 */
export type Verdict = "same" | "different" | "not-compared";

/** One way to pour a source. */
export interface Entry {
  readonly name: string;
  /** `decant`, or as `--peers` names it. */
  readonly peer: string;
  /** For `sh`; $SOURCE, $TARGET and others are variables. */
  readonly command: string;
  readonly verdict: Verdict;
  /** Why it did not come to its end; null: it did. */
  readonly failure: string | null;
  readonly runs: readonly Run[];
  /** Null without a run. */
  readonly figures: Figures | null;
}

export interface Run extends Pick<Measurement, "seconds" | "cpuSeconds" | "peakRssBytes"> {
  /** Of its control group; null where there was none. */
  readonly groupPeakBytes: number | null;
  /** Allocated in the target and in temporary files; null where nothing is kept. */
  readonly bytesWritten: number | null;
  /** How `bytesWritten` grew; where nothing is kept, how much of the disk decant had done. */
  readonly samples: readonly Sample[];
  /** What decant says of itself; null of a peer. */
  readonly own: Pick<ConvertResult, "virtualSize" | "bytesRead" | "bytesWritten" | "stages"> | null;
}

/** Over all runs of an entry. */
export interface Figures {
  readonly seconds: Spread;
  readonly cpuSeconds: Spread;
  readonly peakRssBytes: Spread;
  readonly groupPeakBytes: Spread | null;
  readonly bytesWritten: Spread | null;
  /** Of the image as it is stored; at the median of the seconds, as the next. */
  readonly sourceBytesPerSecond: number | null;
  readonly virtualBytesPerSecond: number | null;
  /** This entry's median of the seconds by the first one's: 2 means that decant was twice as fast. */
  readonly ratio: number | null;
}

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** The middle value; of an even number the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const low = sorted[Math.ceil(middle) - 1];
  const high = sorted[Math.floor(middle)];
  if (low === undefined || high === undefined) throw new Error("no values");
  return (low + high) / 2;
}

export function spreadOf(values: readonly number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

/** @param reference the runs that the ratio is to */
export function figuresOf(
  runs: readonly Run[],
  reference: readonly Run[],
  size: Pick<Work, "storedBytes" | "virtualSize">,
): Figures | null {
  if (runs.length === 0) return null;
  const of = (value: (run: Run) => number): Spread => spreadOf(runs.map(value));
  const known = (value: (run: Run) => number | null): Spread | null => {
    const values = runs.map(value).filter((one) => one !== null);
    return values.length === runs.length ? spreadOf(values) : null;
  };
  const seconds = of((run) => run.seconds);
  const rate = (bytes: number | null): number | null => (bytes === null ? null : Math.round(bytes / seconds.median));
  return {
    seconds,
    cpuSeconds: of((run) => run.cpuSeconds),
    peakRssBytes: of((run) => run.peakRssBytes),
    groupPeakBytes: known((run) => run.groupPeakBytes),
    bytesWritten: known((run) => run.bytesWritten),
    sourceBytesPerSecond: rate(size.storedBytes),
    virtualBytesPerSecond: rate(size.virtualSize),
    ratio: reference.length === 0 ? null : seconds.median / median(reference.map((run) => run.seconds)),
  };
}

/** Of the run in the middle: what a chart of one run shows. */
export function middleRun(runs: readonly Run[]): Run | undefined {
  return [...runs].sort((a, b) => a.seconds - b.seconds)[Math.floor((runs.length - 1) / 2)];
}
