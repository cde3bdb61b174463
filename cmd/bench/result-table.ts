/**
 * The result of a benchmark for a terminal: for each source a table, where decant's time went, who was left out, and the
 * lines that were run. What does not fit beside each other stands below each other.
 */
import { showBytes } from "../quantity.ts";
import type { BenchReport, Entry, Figures, LeftOut, Spread, Work } from "./bench-report.ts";
import { middleRun } from "./bench-report.ts";
import { stagesText } from "../stages.ts";

interface Column {
  readonly title: string;
  readonly cell: (figures: Figures) => string;
}

const megabytes = (bytes: Spread | null): string => (bytes === null ? "" : (bytes.median / 1e6).toFixed(0));
const megabytesPerSecond = (rate: number | null): string => (rate === null ? "" : (rate / 1e6).toFixed(0));

const TIME: readonly Column[] = [
  { title: "seconds", cell: ({ seconds }) => seconds.median.toFixed(2) },
  { title: "range", cell: ({ seconds }) => `${seconds.min.toFixed(2)}-${seconds.max.toFixed(2)}` },
  { title: "ratio", cell: ({ ratio }) => (ratio === null ? "" : ratio.toFixed(2)) },
  { title: "CPU s", cell: ({ cpuSeconds }) => cpuSeconds.median.toFixed(2) },
];

const BYTES: readonly Column[] = [
  { title: "peak MB", cell: ({ peakRssBytes }) => megabytes(peakRssBytes) },
  { title: "group MB", cell: ({ groupPeakBytes }) => megabytes(groupPeakBytes) },
  { title: "read MB/s", cell: ({ sourceBytesPerSecond }) => megabytesPerSecond(sourceBytesPerSecond) },
  { title: "disk MB/s", cell: ({ virtualBytesPerSecond }) => megabytesPerSecond(virtualBytesPerSecond) },
  { title: "wrote MB", cell: ({ bytesWritten }) => megabytes(bytesWritten) },
];

const LEGEND = `seconds: median, range: of all runs. ratio: seconds by those of the first row; above 1 the first row is
faster. peak: of the resident memory of its processes; group: of all that the kernel charges a container for, page cache
too. read: the stored image, disk: the virtual disk, by seconds.`.replaceAll("\n", " ");

/** @param columns of the terminal */
export function resultTable(report: BenchReport, columns: number): string {
  const { works, machine } = report;
  const rounds = `${report.runs} ${report.runs === 1 ? "run" : "runs"} after ${report.warmup} to warm up`;
  const title = `${rounds}, into ${report.sink}; ${machine["cpu"]}, ${machine["cores"]} cores, load ${machine["load"]}`;
  const parts = [wrap(title, columns, 0), ...works.map((work) => workText(work, columns)), wrap(LEGEND, columns, 0)];
  return `${parts.join("\n\n")}\n`;
}

function workText(work: Work, columns: number): string {
  const lines = [wrap(`${shown(work.source)}: ${describeWork(work)}`, columns, 2), ""];
  const widest = table(work.entries, [...TIME, ...BYTES]);
  if (Math.max(...widest.map((line) => line.length)) <= columns) lines.push(...widest);
  else lines.push(...table(work.entries, TIME), "", ...table(work.entries, BYTES));
  lines.push("");
  for (const entry of work.entries) {
    const note = noteOf(entry);
    if (note !== undefined) lines.push(wrap(`${entry.name}: ${shown(note)}`, columns, 2));
    const stages = middleRun(entry.runs)?.own?.stages;
    if (stages !== undefined) lines.push(wrap(`${entry.name} ${stagesText(stages)}`, columns, 2));
  }
  const leftOut = leftOutText(work.leftOut);
  if (leftOut !== "") lines.push(wrap(`left out: ${leftOut}`, columns, 2));
  lines.push("commands:", ...work.entries.map(({ command }) => `  ${wrap(command, columns - 2, 6)}`));
  return lines.join("\n");
}

export function describeWork({ wrappers, format, storedBytes, virtualSize }: Work): string {
  const stored = storedBytes === null ? "" : `, ${showBytes(storedBytes)} stored`;
  const disk = virtualSize === null ? "" : `, ${showBytes(virtualSize)} disk`;
  return `${[...wrappers, format].join(" → ")}${stored}${disk}`;
}

/** Peers with the same reason stand together. */
export function leftOutText(leftOut: readonly LeftOut[]): string {
  const reasons = [...new Set(leftOut.map(({ reason }) => reason))];
  const peersOf = (reason: string): string[] => leftOut.filter((one) => one.reason === reason).map(({ peer }) => peer);
  return reasons.map((reason) => `${peersOf(reason).join(", ")} (${reason})`).join("; ");
}

/** What is wrong with an entry's figures. */
export function noteOf({ failure, verdict }: Entry): string | undefined {
  if (failure !== null) return `failed, ${failure}`;
  return verdict === "different" ? "what it wrote is another disk" : undefined;
}

/** What every table shows of entries; columns that nobody has a figure for are left out. */
export function figureCells(
  entries: readonly Entry[],
  all: readonly Column[] = [...TIME, ...BYTES],
): { readonly titles: readonly string[]; readonly rows: readonly (readonly string[])[] } {
  const columns = all.filter(({ cell }) => entries.some(({ figures }) => figures !== null && cell(figures) !== ""));
  const titles = columns.map(({ title }) => title);
  const rows = entries.map(({ figures }) => columns.map(({ cell }) => (figures === null ? "-" : cell(figures))));
  return { titles, rows };
}

function table(entries: readonly Entry[], columns: readonly Column[]): string[] {
  const { titles, rows: cells } = figureCells(entries, columns);
  return alignColumns([["", ...titles], ...entries.map(({ name }, at) => [name, ...(cells[at] ?? [])])]);
}

/** The first column to the left, the others to the right. */
export function alignColumns(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const pad = (text: string, at: number): string =>
    at === 0 ? text.padEnd(widths[at] ?? 0) : text.padStart(widths[at] ?? 0);
  return rows.map((row) => row.map(pad).join("  ").trimEnd());
}

/** Lines of at most `columns`, broken at blanks; all but the first are indented. */
export function wrap(text: string, columns: number, indent: number): string {
  const lines: string[] = [];
  let line = "";
  // A number and its unit stay together.
  for (const word of text.split(/ (?!s(?:[,;]|$))/)) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (longer.length <= columns || line.trim() === "") {
      line = longer;
      continue;
    }
    lines.push(line);
    line = " ".repeat(indent) + word;
  }
  return [...lines, line].join("\n");
}

/** Names from outside move no cursor. */
function shown(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, "?");
}
