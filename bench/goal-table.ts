/**
 * The verdicts as two tables of text: the goals with what was reached, and what the machine cannot do faster.
 */
import { alignColumns, wrap } from "../cmd/bench/result-table.ts";
import type { Goal } from "./goals.ts";
import type { StartUp } from "./start-up.ts";
import type { Verdict } from "./verdict.ts";

/** A benchmark by itself makes the load of two cores. */
const BUSY = 3;

const TITLES = ["", "decant s", "ratio", "goal", "", "CPU", "goal", "", "MB", "goal", "", "portable"];

const LEGEND = `ratio: the seconds of the line it is compared with by decant's; portable: the same without the system's
libraries. CPU: decant's CPU seconds by the line's. MB: decant's highest peak.`.replaceAll("\n", " ");

/** @param columns of the terminal: for what is no table */
export function goalTable(verdicts: readonly Verdict[], startUp: StartUp, columns: number): string {
  const rows = verdicts.map(goalRow);
  const parts = rows.length === 0 ? [] : [alignColumns([TITLES, ...rows]).join("\n"), wrap(LEGEND, columns, 0)];
  const list = (title: string, lines: readonly string[]): void => {
    if (lines.length > 0) parts.push([title, ...lines.map((line) => `  ${wrap(line, columns - 2, 4)}`)].join("\n"));
  };
  const compared = [...Map.groupBy(verdicts, ({ line }) => line)];
  list(
    "compared with",
    compared.map(([line, of]) => `${line}: ${of.map(({ row }) => row).join(", ")}`),
  );
  list(
    "another peer is quicker than the line",
    verdicts.flatMap((verdict) => quickestText(verdict) ?? []),
  );
  list(
    "troubles",
    verdicts.flatMap(({ row, troubles }) => troubles.map((trouble) => `${row}: ${trouble}`)),
  );
  const busy = Math.max(0, ...verdicts.map(({ load }) => load));
  if (busy > BUSY) parts.push(`the machine had other work, a load of up to ${busy.toFixed(1)}: do not trust this`);
  parts.push(startText(startUp), countText(verdicts, startUp));
  return `${parts.join("\n\n")}\n`;
}

/** Empty where no limit was measured. */
export function limitTable(verdicts: readonly Verdict[]): string {
  const rows = verdicts.flatMap(({ row, seconds, limits }) =>
    limits.map((limit) => {
      const share = seconds === null ? "" : `${((limit.seconds / seconds) * 100).toFixed(0)} %`;
      return [`${row}, ${limit.name}`, limit.seconds.toFixed(2), seconds?.toFixed(2) ?? "-", share];
    }),
  );
  if (rows.length === 0) return "";
  return `${alignColumns([["limits by themselves", "seconds", "decant s", "of decant's"], ...rows]).join("\n")}\n`;
}

function goalRow({ row, seconds, ratio, goal, held, cpu, memory, portableRatio }: Verdict): string[] {
  return [
    row,
    seconds?.toFixed(2) ?? "-",
    times(ratio),
    goalText(goal),
    heldText(held),
    times(cpu.value),
    `<= ${trimmed(cpu.atMost)}`,
    heldText(cpu.held),
    memory.value === null ? "-" : (memory.value / 1e6).toFixed(0),
    `<= ${(memory.atMost / 1e6).toFixed(0)}`,
    heldText(memory.held),
    portableRatio === null ? "" : times(portableRatio),
  ];
}

function quickestText({ row, line, fastestPeer }: Verdict): string | undefined {
  if (fastestPeer === null || fastestPeer.name === line) return undefined;
  return `${row}: ${fastestPeer.name}, ratio ${times(fastestPeer.ratio)}`;
}

function startText({ seconds, starts }: StartUp): string {
  const took = seconds.value === null ? "failed" : `${(seconds.value * 1000).toFixed(0)} ms`;
  return `decant --version: ${took}, median of ${starts}; goal <= ${seconds.atMost * 1000} ms: ${heldText(seconds.held)}`;
}

function countText(verdicts: readonly Verdict[], startUp: StartUp): string {
  const all = [...verdicts.flatMap(({ held, cpu, memory }) => [held, cpu.held, memory.held]), startUp.seconds.held];
  return `${all.filter((held) => held === true).length} of ${all.length} goals held`;
}

function goalText(goal: Goal): string {
  return "seconds" in goal ? `< ${goal.seconds} s` : `>= ${trimmed(goal.ratio)}`;
}

function heldText(held: boolean | null): string {
  return held === null ? "?" : held ? "held" : "MISSED";
}

function times(ratio: number | null): string {
  return ratio === null ? "-" : ratio.toFixed(2);
}

function trimmed(value: number): string {
  return String(Math.round(value * 100) / 100);
}
