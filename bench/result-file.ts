/**
 * What a benchmark has found so far, kept in a file after each work: hours of a run that is interrupted are not lost.
 */
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import type { BenchReport, Work } from "../cmd/bench/bench-report.ts";
import type { CorpusSize } from "./corpus.ts";
import type { StartUp } from "./start-up.ts";
import type { Verdict } from "./verdict.ts";

/** What the file says of the run itself. */
export interface RunSettings {
  readonly size: CorpusSize;
  /** Rounds that count. */
  readonly runs: number;
  /** The folder that is written to; undefined: beside the corpus. */
  readonly to: string | undefined;
  /** decant's. */
  readonly threads: number;
  /** As it is shown. */
  readonly command: string;
}

export class Results {
  readonly verdicts: Verdict[] = [];
  readonly #folder: string;
  readonly #settings: RunSettings;
  readonly #startUp: StartUp;
  readonly #works: Work[] = [];
  readonly #started = new Date().toISOString();
  readonly #revision = revision();
  #first: BenchReport | undefined;

  constructor(folder: string, settings: RunSettings, startUp: StartUp) {
    this.#folder = folder;
    this.#settings = settings;
    this.#startUp = startUp;
  }

  /** @param report of which the work is one; undefined: it could not begin */
  add(verdict: Verdict, work?: Work, report?: BenchReport): void {
    this.verdicts.push(verdict);
    if (work !== undefined) this.#works.push(work);
    this.#first ??= report; // its machine, load and versions are those of before the first work
    this.save();
  }

  /** @returns the file's path */
  save(): string {
    const { size, to, runs, command, threads } = this.#settings;
    const { name, ...corpus } = size;
    const header = { command, started: this.#started, revision: this.#revision, corpus, threads, runs };
    const found = { startUp: this.#startUp, verdicts: this.verdicts, works: this.#works };
    const results = { ...this.#first, ...header, sink: to ?? "a file beside the corpus", ...found };
    return writeResults(this.#folder, name, results);
  }
}

/**
 * @param what    was measured
 * @param results whose `started` is in ISO 8601
 * @returns the file's path
 */
export function writeResults(folder: string, what: string, results: { readonly started: string }): string {
  const file = path.join(folder, `${results.started.replaceAll(":", "").slice(0, 17)}-${what}.json`);
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(file, `${JSON.stringify(results, undefined, 2)}\n`);
  return file;
}

/** Of the checkout that this file lies in. */
export function revision(): string {
  const args = ["-C", import.meta.dirname, "describe", "--always", "--dirty"];
  return execFileSync("git", args, { encoding: "utf8" }).trim();
}
