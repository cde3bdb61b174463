/**
 * The data processor: runs the phase machine for one image, from its first byte to a disk that is safely on its target.
 *
 * There is no phase for errors: a step throws, and here everything is stopped and the target told to leave nothing usable.
 */
import { performance } from "node:perf_hooks";
import type { Warning } from "../formats/disk-format.ts";
import { Counters } from "./engine/counters.ts";
import type { Totals } from "./engine/counters.ts";
import { openJobPool } from "./engine/job-pool.ts";
import { ZeroRanges } from "./engine/zero-ranges.ts";
import { Interrupted } from "./errors.ts";
import { nextPhase } from "./phases.ts";
import type { Outcome, Phase, PhaseRecord } from "./phases.ts";
import { must, sourceWaitMs, stopIfInterrupted, warningsOf } from "./run.ts";
import type { Run, RunOptions } from "./run.ts";
import type { Source } from "./sources/source.ts";
import { ScratchNeeded } from "./spill-file.ts";
import { complete } from "./steps/complete.ts";
import { convert } from "./steps/convert.ts";
import { info } from "./steps/info.ts";
import { resize } from "./steps/resize.ts";
import { transfer } from "./steps/transfer.ts";
import { EarlyFlush } from "./targets/early-flush.ts";
import type { Target } from "./targets/target.ts";
import type { Unpacked } from "./unpack/unpack-archive.ts";

/** What a run did. Sizes in bytes. */
export interface Report {
  readonly wrappers: readonly string[];
  /** The image's; `tar` where an archive was unpacked. */
  readonly format: string;
  /** Of an archive the contents of its files. */
  readonly virtualSize: number;
  /** Bytes taken from the source. */
  readonly bytesRead: number;
  readonly bytesWritten: number;
  /** Bytes of the disk that read as zeros and were not written. */
  readonly bytesZeroed: number;
  /** Bytes that had to wait in a spill file. */
  readonly spilledBytes: number;
  /** How often the source was continued after a cut. */
  readonly resumes: number;
  readonly warnings: readonly Warning[];
  readonly phases: readonly PhaseRecord[];
  /** Where the time went, summed over threads. */
  readonly totals: Totals;
  readonly waitedForSourceMs: number;
  /** Taking off wrappers, where a stream passes. */
  readonly unwrapMs: number;
  /** At the end, until all is safely in its place. */
  readonly flushMs: number;
  readonly digest: string | undefined;
}

/** Where a run is, for whoever shows progress. Sampled, never pushed. */
export interface Progress {
  readonly phase: Phase;
  /** Bytes of `total` that are done: of the disk where the image can be read anywhere, else of the source. */
  readonly done: number;
  /**
   * Of the disk, without what the image's map, as far as it was read, says to be holes or zeros: they take no time, and half of
   * a sparse disk would be done at once or never. Undefined where nobody can know.
   */
  readonly total: number | undefined;
}

const STEPS: { readonly [P in Exclude<Phase, "Complete">]: (run: Run) => Promise<Outcome<P>> } = {
  Info: info,
  Transfer: transfer,
  Convert: convert,
  Resize: resize,
};

/** Of a VHD, which is not part of its disk. */
const FOOTER_LENGTH = 512;

/** How long a step may take to notice that everything it uses is closed. */
const STOP_GRACE_MS = 1000;

/** An image file below this is converted by the main thread alone: starting others takes 50 ms, and half the memory. */
const SMALL_IMAGE = 8 * 1024 * 1024;

export class DataProcessor {
  readonly #run: Run;
  readonly #phases: PhaseRecord[] = [];
  /** Rejects with what went wrong beside the steps. */
  readonly #aside = Promise.withResolvers<never>();
  #phase: Phase = "Info";

  constructor(source: Source, target: Target, options: RunOptions, signal: AbortSignal) {
    this.#run = { source, target, options, signal };
  }

  get progress(): Progress {
    const { source, unwrapped, virtualSize, pool, counted, holes = 0 } = this.#run;
    const phase = this.#phase;
    if (unwrapped?.file === undefined || pool === undefined || virtualSize === undefined) {
      const { bytes, total } = source.transferred?.() ?? { bytes: counted?.bytes ?? 0, total: source.size };
      return { phase, done: bytes, total };
    }
    const totals = pool.totals();
    const total = Math.max(0, virtualSize - holes);
    return { phase, done: Math.min(total, totals.bytesWritten + totals.bytesZeroed), total };
  }

  /** Whether the image comes in ranges over the network, and not as one stream. */
  get readsRanges(): boolean {
    return this.#run.remote !== undefined;
  }

  /** The path so far. */
  get phases(): readonly PhaseRecord[] {
    return this.#phases;
  }

  /**
   * Runs to the end. Whatever happens, threads are gone and the source is closed when this settles; after a failure the
   * target holds nothing that boots.
   * @throws the first error of any step; Interrupted if the signal came first; ScratchNeeded
   */
  async run(): Promise<Report> {
    const run = this.#run;
    const work = this.#runPhases();
    try {
      await Promise.race([work, whenAborted(run.signal), this.#aside.promise]);
      await run.source.finish?.(true);
      return this.#report();
    } catch (error) {
      // The threads first: no write may come after the target was given up.
      await this.#closeWorkers();
      run.earlyFlush?.close().catch(() => undefined); // its failure is this error, or comes after it
      run.stream?.close();
      run.remote?.close();
      // A stream may wait for bytes that never come. A file stays open for as long as somebody may read it.
      if (run.source.file === undefined) run.source.close();
      await Promise.race([
        work.catch(() => undefined),
        new Promise((resolve) => setTimeout(resolve, STOP_GRACE_MS).unref()),
      ]);
      run.target.abort();
      await run.source.finish?.(false);
      throw error;
    } finally {
      await this.#closeWorkers();
      run.stream?.close();
      await run.unwrapped?.stream?.close();
      run.remote?.close();
      run.source.close();
    }
  }

  async #runPhases(): Promise<void> {
    while (this.#phase !== "Complete") {
      const phase = this.#phase;
      const started = performance.now();
      stopIfInterrupted(this.#run);
      const { pool, options } = this.#run;
      if (pool === undefined && phase !== "Info" && options.unpackInto === undefined) await this.#begin();
      const outcome = await this.#step(phase, started);
      this.#phases.push({ phase, outcome, seconds: (performance.now() - started) / 1000 });
      this.#phase = nextPhase(phase, outcome as never);
    }
    const started = performance.now();
    await complete(this.#run);
    this.#phases.push({ phase: "Complete", outcome: undefined, seconds: (performance.now() - started) / 1000 });
  }

  /** That scratch space is needed ends a run as a failure does, but it is an outcome of its phase. */
  async #step(phase: Exclude<Phase, "Complete">, started: number): Promise<string> {
    try {
      return await STEPS[phase](this.#run);
    } catch (error) {
      if (error instanceof ScratchNeeded) {
        const seconds = (performance.now() - started) / 1000;
        this.#phases.push({ phase, outcome: "needs-scratch", seconds });
        this.#phases.push({ phase: "Complete", outcome: undefined, seconds: 0 });
      }
      throw error;
    }
  }

  /** The image is known, nothing is written yet: sizes are compared and the threads started. */
  async #begin(): Promise<void> {
    const run = this.#run;
    if (run.virtualSize === undefined) this.#checkLeastSize();
    run.target.begin(run.virtualSize === undefined ? undefined : run.options.finalSize(run.virtualSize));
    if (run.target.writer !== undefined) run.earlyFlush = new EarlyFlush(run.target.writer, this.#aside.reject);
    run.zeros = new ZeroRanges(run.target, run.signal);
    const zeroedFirst = await this.#zeroFirst(run.zeros);
    run.pool = openJobPool(
      {
        read: run.unwrapped?.file?.spec,
        slab: run.stream?.slab,
        writer: run.target.writer,
        startsZeroed: run.target.startsZeroed || zeroedFirst,
        decoders: run.options.decoders,
      },
      run.unwrapped?.file !== undefined && run.unwrapped.file.size < SMALL_IMAGE ? 1 : run.options.threads,
    );
  }

  /** What is not wrapped is as long as the server says, but for a footer that it may have. */
  #checkLeastSize(): void {
    const { unwrapped, source, options } = this.#run;
    if (unwrapped?.wrappers.length !== 0 || source.size === undefined) return;
    options.checkRoom?.(Math.max(0, source.size - FOOTER_LENGTH));
  }

  /**
   * A scan does not mention the holes of its disk, so a device is zeroed as a whole before a stream is poured into it.
   * Not so raw: it has none, and its size may be unknown.
   * @returns whether the target reads as zeros now
   */
  async #zeroFirst(zeros: ZeroRanges): Promise<boolean> {
    const { stream, virtualSize, target } = this.#run;
    if (stream === undefined || virtualSize === undefined || target.startsZeroed) return false;
    await zeros.zeroFirst(virtualSize);
    stopIfInterrupted(this.#run);
    return true;
  }

  async #closeWorkers(): Promise<void> {
    await this.#run.pool?.close();
  }

  #report(): Report {
    const { source, unwrapped, image, target, virtualSize, pool, zeros, stream, counted, digest, unpacked } = this.#run;
    const notes = target.notes.map((message) => ({ code: "TARGET_NOTE", message }));
    const totals = unpacked === undefined ? must(pool, "the pool").totals() : unpackingTotals(unpacked);
    const size = unpacked?.contentLength ?? must(virtualSize, "the virtual size");
    const bytesWritten = totals.bytesWritten + (zeros?.writtenZeros ?? 0);
    return {
      wrappers: unwrapped?.wrappers ?? [],
      format: unpacked === undefined ? must(image, "the image").format : "tar",
      virtualSize: size,
      bytesRead: source.transferred?.().bytes ?? counted?.bytes ?? totals.bytesRead,
      bytesWritten,
      bytesZeroed: Math.max(0, size - bytesWritten),
      spilledBytes: stream?.spilledBytes ?? 0,
      resumes: (source.resumes?.() ?? 0) + totals.retries + (this.#run.remote?.retries ?? 0),
      warnings: [...(source.warnings?.() ?? []), ...warningsOf(this.#run), ...notes],
      phases: this.#phases,
      totals,
      waitedForSourceMs: sourceWaitMs(this.#run),
      unwrapMs: this.#run.unwrapMs?.() ?? 0,
      flushMs: this.#run.flushMs ?? 0,
      digest,
    };
  }
}

function unpackingTotals({ bytesWritten }: Unpacked): Totals {
  const counters = new Counters();
  counters.add("bytesWritten", bytesWritten);
  return counters.totals();
}

function whenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(new Interrupted());
    else signal.addEventListener("abort", () => reject(new Interrupted()), { once: true });
  });
}
