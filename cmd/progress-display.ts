/**
 * Shows how far a run is: a bar on a terminal, a line every five seconds elsewhere, ten lines of JSON a second for programs.
 * Samples on a timer; the run knows nothing of it.
 */
import { createRequire } from "node:module";
import { performance } from "node:perf_hooks";
import type { Progress } from "../importer/data-processor.ts";
import type { CommandIo } from "./command-io.ts";
import { showBytes, showSeconds } from "./quantity.ts";

export type ProgressStyle = "auto" | "bar" | "plain" | "json" | "none";

const BAR_MS = 100;
const LINE_MS = 5000;

/** Rates are over the last so many samples. */
const WINDOW = 50;

/** Starts showing; returns what stops it and clears the line. */
export function showProgress(style: ProgressStyle, io: CommandIo, sample: () => Progress): () => void {
  if (style === "none") return () => undefined;
  if (style === "json") return showJson(io, sample);
  const bar = style === "bar" || (style === "auto" && io.stderr.isTTY);
  return bar ? showBar(sample) : showLines(io, sample);
}

function showBar(sample: () => Progress): () => void {
  const rate = new Rate();
  // Loaded for a terminal only: it takes 2 MB and 13 ms.
  const { SingleBar } = createRequire(import.meta.url)("cli-progress") as typeof import("cli-progress");
  const bar = new SingleBar({
    format: "{phase} [{bar}] {percent}  {done}  {rate}  {eta}",
    barsize: 30,
    hideCursor: true,
    clearOnComplete: true,
    linewrap: false,
    stream: process.stderr,
  });
  const payload = (): { phase: string; percent: string; done: string; rate: string; eta: string } =>
    describe(sample(), rate);
  bar.start(1000, 0, payload());
  const timer = setInterval(() => {
    const { done, total } = sample();
    bar.update(total === undefined || total === 0 ? 0 : Math.floor((1000 * done) / total), payload());
  }, BAR_MS);
  return () => {
    clearInterval(timer);
    bar.stop();
  };
}

function showLines(io: CommandIo, sample: () => Progress): () => void {
  const rate = new Rate();
  const timer = setInterval(() => {
    const { phase, percent, done, rate: speed, eta } = describe(sample(), rate);
    io.stderr.write(`${[phase, percent, done, speed, eta].filter((part) => part !== "").join("  ")}\n`);
  }, LINE_MS);
  return () => clearInterval(timer);
}

/** For programs. */
function showJson(io: CommandIo, sample: () => Progress): () => void {
  const show = (): void => io.stderr.write(`${JSON.stringify(sample())}\n`);
  const timer = setInterval(show, BAR_MS);
  return () => {
    clearInterval(timer);
    show();
  };
}

function describe(
  progress: Progress,
  rate: Rate,
): { phase: string; percent: string; done: string; rate: string; eta: string } {
  const { phase, done, total } = progress;
  const speed = rate.sample(done);
  const known = total !== undefined && total > 0;
  return {
    phase,
    percent: known ? `${((100 * done) / total).toFixed(1)} %` : "",
    done: known ? `${showBytes(done)} of ${showBytes(total)}` : showBytes(done),
    rate: speed > 0 ? `${showBytes(speed)}/s` : "",
    eta: known && speed > 0 ? `${showSeconds((total - done) / speed)} left` : "",
  };
}

class Rate {
  readonly #samples: [ms: number, done: number][] = [];

  /** Bytes a second over the window. */
  sample(done: number): number {
    this.#samples.push([performance.now(), done]);
    if (this.#samples.length > WINDOW) this.#samples.shift();
    const [first] = this.#samples;
    const last = this.#samples.at(-1);
    if (first === undefined || last === undefined || last[0] === first[0]) return 0;
    return Math.max(0, (1000 * (last[1] - first[1])) / (last[0] - first[0]));
  }
}
