/**
 * One import, tried again from the first byte where that may help: once as one stream, if the server's ranges turn out not to
 * be what it said they are; and once if the bytes changed on the way, or a cut cannot be continued. Each attempt is a run of
 * its own with a new source and a new target, so nothing of a failed one stays.
 */
import { DataProcessor } from "./data-processor.ts";
import type { Progress, Report } from "./data-processor.ts";
import { lacksRanges, mayRestart } from "./another-attempt.ts";
import { orInterrupted } from "./or-interrupted.ts";
import { errorText } from "./outcome.ts";
import type { PhaseRecord } from "./phases.ts";
import type { RunOptions } from "./run.ts";
import type { Source } from "./sources/source.ts";
import type { Target } from "./targets/target.ts";

export interface ImportPlaces {
  readonly source: Source;
  readonly target: Target;
  /** Opens the target once more, after it was given up. */
  readonly reopenTarget: () => Target;
}

export class ImportAttempts {
  readonly #places: ImportPlaces;
  readonly #options: RunOptions;
  readonly #signal: AbortSignal;
  readonly #restarts: string[] = [];
  #processor: DataProcessor;
  #asOneStream = false;
  #fromZero = false;

  constructor(places: ImportPlaces, options: RunOptions, signal: AbortSignal) {
    this.#places = places;
    this.#options = options;
    this.#signal = signal;
    this.#processor = new DataProcessor(places.source, places.target, options, signal);
  }

  /** Of the present attempt. */
  get progress(): Progress {
    return this.#processor.progress;
  }

  /** The path of the present attempt. */
  get phases(): readonly PhaseRecord[] {
    return this.#processor.phases;
  }

  /** As DataProcessor.run. @throws what the last attempt threw */
  async run(): Promise<Report> {
    for (;;) {
      try {
        const report = await this.#processor.run();
        const warnings = this.#restarts.map((message) => ({ code: "SOURCE_RESTARTED", message }));
        return { ...report, warnings: [...warnings, ...report.warnings] };
      } catch (error) {
        if (!this.#isWorthAnother(error)) throw error;
        await this.#startAgain(error);
      }
    }
  }

  #isWorthAnother(error: unknown): boolean {
    if (this.#signal.aborted || this.#places.source.reopen === undefined) return false;
    if (lacksRanges(error) && this.#processor.readsRanges) {
      this.#asOneStream = true;
      return true;
    }
    if (!mayRestart(error) || this.#fromZero) return false;
    this.#fromZero = true;
    return true;
  }

  async #startAgain(error: unknown): Promise<void> {
    this.#restarts.push(`started again from the first byte: ${errorText(error)}`);
    const reopening = this.#places.source.reopen?.();
    if (reopening === undefined) throw error;
    const source = await orInterrupted(reopening, this.#signal, (late) => late.close());
    try {
      const options = { ...this.#options, asOneStream: this.#asOneStream || this.#options.asOneStream === true };
      this.#processor = new DataProcessor(source, this.#places.reopenTarget(), options, this.#signal);
    } catch (failure) {
      source.close();
      throw failure;
    }
  }
}
