/**
 * The charts of the result page, as HTML: bars are boxes whose lengths are shares of their track, so that they fit a narrow
 * window and their words stay words; only lines over time are drawn.
 */
import { STAGES } from "../stages.ts";
import type { Entry, Figures, Run } from "./bench-report.ts";
import { middleRun } from "./bench-report.ts";
import type { Sample } from "./samples.ts";

/** An entry with runs, and its colour on the page: everywhere the same. */
interface Drawn {
  readonly entry: Entry;
  readonly figures: Figures;
  readonly colour: string;
}

/** Colours that page-style.ts has. */
const COLOURS = 8;

/** Rates are over so many parts of the time, and drawn between their middles. */
const RATE_STEPS = 40;

/** Of the drawing of lines, which is stretched to its place. */
const WIDTH = 1000;
const HEIGHT = 300;

export function drawable(entries: readonly Entry[]): Drawn[] {
  return entries.flatMap((entry, at) => {
    return entry.figures === null ? [] : [{ entry, figures: entry.figures, colour: `c${at % COLOURS}` }];
  });
}

/** Median of the seconds as a bar, the range of all runs as a line across its end, every run as a dot. */
export function timeChart(drawn: readonly Drawn[]): string {
  const most = Math.max(...drawn.map(({ figures }) => figures.seconds.max));
  const rows = drawn.map(({ entry, figures: { seconds }, colour }) => {
    const { median, min, max } = seconds;
    const dots = entry.runs.map((run) => `<i class="dot" style="left:${share(run.seconds, most)}"></i>`).join("");
    const range = `<i class="range" style="left:${share(min, most)};width:${share(max - min, most)}"></i>`;
    const bar = `<i class="bar ${colour}" style="width:${share(median, most)}"></i>`;
    return row(entry.name, `${bar}${range}${dots}`, `${median.toFixed(2)} s`);
  });
  return chart("Wall time", "median; the line is the range of all runs, each dot one of them", rows.join(""));
}

/** How long each peer took for what decant did in one unit of time. */
export function ratioChart(drawn: readonly Drawn[]): string {
  const own = drawn.filter(({ entry }) => entry.peer === "decant");
  const peers = drawn.filter(({ entry }) => entry.peer !== "decant");
  if (own.length === 0 || peers.length === 0) return "";
  const pairs = peers.flatMap((peer) =>
    own.map((decant) => ({ peer, decant, ratio: peer.figures.seconds.median / decant.figures.seconds.median })),
  );
  const most = Math.max(1.25, ...pairs.map(({ ratio }) => ratio));
  const rows = pairs.map(({ peer, decant, ratio }) => {
    const name = own.length === 1 ? peer.entry.name : `${peer.entry.name} / ${decant.entry.name}`;
    const bar = `<i class="bar ${peer.colour}" style="width:${share(ratio, most)}"></i>`;
    return row(name, `${bar}<i class="one" style="left:${share(1, most)}"></i>`, `${ratio.toFixed(2)} ×`);
  });
  return chart("Ratio to each peer", "its time by decant's; beyond the line at 1 decant is faster", rows.join(""));
}

/** Working is plain, waiting is hatched. */
export function stageChart(drawn: readonly Drawn[]): string {
  const own = drawn.flatMap(({ entry }) => {
    const stages = middleRun(entry.runs)?.own?.stages;
    return stages === undefined ? [] : [{ name: entry.name, stages }];
  });
  const sum = (stages: Record<string, number>): number => Object.values(stages).reduce((a, b) => a + b, 0);
  const most = Math.max(1, ...own.map(({ stages }) => sum({ ...stages })));
  const used = STAGES.map((stage, at) => ({ ...stage, colour: `c${at % COLOURS} ${stage.kind}` })).filter(({ key }) =>
    own.some(({ stages }) => stages[key] > 0),
  );
  if (used.length === 0) return "";
  const rows = own.map(({ name, stages }) => {
    const boxes = used.map(
      ({ key, name: stage, colour }) =>
        `<i class="part ${colour}" style="width:${share(stages[key], most)}" title="${stage} ${seconds(stages[key])}"></i>`,
    );
    return row(name, boxes.join(""), seconds(sum({ ...stages })));
  });
  const legend = used.map(({ key, name, kind, colour }) => {
    const figures = own.map(({ stages }) => seconds(stages[key])).join(", ");
    return swatch(colour, `${name}${kind === "wait" ? " (waiting)" : ""} ${figures}`);
  });
  const note = "of the run in the middle, all threads together; waiting is hatched";
  return chart("Where decant's time went", note, `${rows.join("")}${legendOf(legend)}`);
}

/** @param keeps false: the sink keeps nothing, so only decant's own word is there */
export function rateChart(drawn: readonly Drawn[], keeps: boolean): string {
  const lines = drawn.flatMap(({ entry, colour }) => {
    const run = middleRun(entry.runs);
    const points = run === undefined ? [] : rates(run);
    return points.length < 2 ? [] : [{ name: entry.name, colour, points }];
  });
  if (lines.length === 0) return "";
  const end = Math.max(...lines.map(({ points }) => points.at(-1)?.[0] ?? 0));
  const most = Math.max(1, ...lines.flatMap(({ points }) => points.map(([, rate]) => rate)));
  const paths = lines.map(({ colour, points }) => {
    const places = points.map(
      ([at, rate]) => `${((at / end) * WIDTH).toFixed(1)},${(HEIGHT - (rate / most) * HEIGHT).toFixed(1)}`,
    );
    return `<polyline class="${colour}" points="${places.join(" ")}"/>`;
  });
  const grid = [0, 0.25, 0.5, 0.75, 1].map(
    (at) => `<line x1="0" x2="${WIDTH}" y1="${at * HEIGHT}" y2="${at * HEIGHT}"/>`,
  );
  const drawing = `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true">${grid.join("")}${paths.join("")}</svg>`;
  const axes = `<div class="lines"><b class="top">${(most / 1e6).toFixed(0)} MB/s</b>${drawing}<b class="start">0 s</b><b class="end">${end.toFixed(2)} s</b></div>`;
  const legend = lines.map(({ name, colour }) => swatch(colour, name));
  const note = keeps
    ? "what arrived in the target, of the run in the middle"
    : "as decant says it, for null: keeps nothing: of the disk, or of the source where the disk's size is not known before";
  return chart("Throughput over time", note, `${axes}${legendOf(legend)}`);
}

/** Bytes a second in equal parts of the run's time, at their middles. */
export function rates(run: Pick<Run, "seconds" | "samples">): Sample[] {
  const { samples } = run;
  const step = run.seconds / RATE_STEPS;
  if (samples.length < 2 || step <= 0) return [];
  return Array.from({ length: RATE_STEPS }, (_, at): Sample => {
    const bytes = valueAt(samples, (at + 1) * step) - valueAt(samples, at * step);
    return [(at + 0.5) * step, Math.max(0, bytes / step)];
  });
}

/** Between two samples on the line that joins them; 0 at the start. */
function valueAt(samples: readonly Sample[], seconds: number): number {
  let before: Sample = [0, 0];
  for (const sample of samples) {
    if (sample[0] >= seconds) {
      const length = sample[0] - before[0];
      return length === 0 ? sample[1] : before[1] + ((sample[1] - before[1]) * (seconds - before[0])) / length;
    }
    before = sample;
  }
  return before[1];
}

function chart(title: string, note: string, body: string): string {
  return `<section class="chart"><h3>${title}</h3><p class="note">${note}</p>${body}</section>`;
}

function row(name: string, track: string, value: string): string {
  return `<div class="row"><span class="name">${escape(name)}</span><span class="track">${track}</span><span class="value">${value}</span></div>`;
}

function swatch(colour: string, text: string): string {
  return `<li><i class="swatch ${colour}"></i>${escape(text)}</li>`;
}

function legendOf(items: readonly string[]): string {
  return `<ul class="legend">${items.join("")}</ul>`;
}

function share(value: number, most: number): string {
  return `${Math.max(0, Math.min(100, (100 * value) / most)).toFixed(2)}%`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}

/** For text and attributes of HTML. */
export function escape(text: string): string {
  const entities: Readonly<Record<string, string>> = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "'": "&#39;",
  };
  return text.replaceAll(/[&<>"']/g, (sign) => entities[sign] ?? sign).replaceAll(/\p{Cc}/gu, "\u{fffd}");
}
