/**
 * What a race gave: the figures of every run, their medians, and the table that a person reads.
 */
import type { Measurement } from "./measure.ts";

/** One contender on one image. */
export interface Entry {
  readonly contender: string;
  readonly line: string;
  readonly runs: readonly Measurement[];
}

export interface Race {
  readonly image: string;
  readonly storedBytes: number;
  /** decant's is the first. */
  readonly entries: readonly Entry[];
}

/** What is written to bench/results. */
export interface Results {
  readonly command: string;
  readonly started: string;
  readonly machine: Readonly<Record<string, string | number>>;
  readonly versions: Readonly<Record<string, string>>;
  readonly corpus: { readonly virtualSize: number; readonly contentBytes: number };
  readonly races: readonly Race[];
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

/** A line for each contender: median and range of its seconds, how many times decant's it took, CPU time, memory. */
export function resultsTable(races: readonly Race[]): string {
  const rows = [["image", "", "seconds", "(range)", "decant is", "CPU s", "peak MB"]];
  for (const { image, entries } of races) {
    const ours = median(entries[0]?.runs.map((run) => run.seconds) ?? []);
    for (const [at, { contender, runs }] of entries.entries()) {
      const seconds = runs.map((run) => run.seconds);
      rows.push([
        at === 0 ? image : "",
        contender,
        median(seconds).toFixed(2),
        `${Math.min(...seconds).toFixed(2)}-${Math.max(...seconds).toFixed(2)}`,
        at === 0 ? "" : `${(median(seconds) / ours).toFixed(2)} x as fast`,
        median(runs.map((run) => run.cpuSeconds)).toFixed(2),
        (median(runs.map((run) => run.peakRssBytes)) / 1e6).toFixed(0),
      ]);
    }
  }
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  const pad = (text: string, column: number): string =>
    column < 2 ? text.padEnd(widths[column] ?? 0) : text.padStart(widths[column] ?? 0);
  return rows.map((row) => row.map(pad).join("  ").trimEnd()).join("\n");
}
