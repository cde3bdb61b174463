/**
 * The result of a benchmark as one page that needs nothing else: no network, no script. Everything that came from outside is
 * escaped, and the page's own policy forbids the browser to load or run anything.
 */
import { showBytes } from "../quantity.ts";
import type { BenchReport, Entry, Work } from "./bench-report.ts";
import { drawable, escape, rateChart, ratioChart, stageChart, timeChart } from "./charts.ts";
import { PAGE_STYLE } from "./page-style.ts";
import { describeWork, figureCells, leftOutText, noteOf } from "./result-table.ts";

export function resultPage(report: BenchReport): string {
  const { works, started, runs, warmup, sink } = report;
  const rounds = `${runs} ${runs === 1 ? "run" : "runs"} of each, in turns, after ${warmup} to warm up`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>decant bench</title>
<style>
${PAGE_STYLE}
</style>
</head>
<body>
<header><h1>decant and its peers</h1>
<p class="note">${escape(`${rounds}, into ${sink}. ${started.slice(0, 16).replace("T", " ")} UTC.`)}</p></header>
<main>
${works.map((work) => section(work, sink !== "null:")).join("\n")}
</main>
<footer class="note">${facts(report)}</footer>
</body>
</html>
`;
}

function section(work: Work, keeps: boolean): string {
  const drawn = drawable(work.entries);
  const charts =
    drawn.length === 0 ? [] : [timeChart(drawn), ratioChart(drawn), stageChart(drawn), rateChart(drawn, keeps)];
  const leftOut = leftOutText(work.leftOut);
  return `<article>
<h2>${escape(work.source)}</h2>
<p class="note">${escape(describeWork(work))}</p>
<div class="charts">
${charts.filter((chart) => chart !== "").join("\n")}
</div>
<div class="wide">${table(work.entries)}</div>
${leftOut === "" ? "" : `<p class="note">Left out: ${escape(leftOut)}</p>`}
<details><summary class="note">Commands</summary><dl>
${work.entries.map(({ name, command }) => `<dt>${escape(name)}</dt><dd><code>${escape(command)}</code></dd>`).join("\n")}
</dl></details>
</article>`;
}

function table(entries: readonly Entry[]): string {
  const { titles, rows } = figureCells(entries);
  const head = ["", ...titles].map((title) => `<th>${escape(title)}</th>`).join("");
  const body = entries.map((entry, at) => {
    const note = noteOf(entry);
    const name = `${escape(entry.name)}${note === undefined ? "" : `<br><span class="bad">${escape(note)}</span>`}`;
    return `<tr><td>${name}</td>${(rows[at] ?? []).map((cell) => `<td>${escape(cell)}</td>`).join("")}</tr>`;
  });
  return `<table><thead><tr>${head}</tr></thead><tbody>${body.join("")}</tbody></table>`;
}

function facts({ machine, versions, command }: BenchReport): string {
  const shown = { ...machine, memoryBytes: showBytes(Number(machine["memoryBytes"])) };
  const list = (facts: Readonly<Record<string, string | number>>): string =>
    Object.entries(facts)
      .map(([name, value]) => `${name.replace("memoryBytes", "memory")}: ${value}`)
      .join(" · ");
  return [command, list(shown), list(versions)].map((line) => `<p>${escape(line)}</p>`).join("");
}
