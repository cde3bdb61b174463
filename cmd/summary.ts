/**
 * The summary of a run: what a person wants to know after it, and before the next.
 */
import type { Report } from "../importer/data-processor.ts";
import { showBytes } from "./quantity.ts";
import { stagesText } from "./stages.ts";
import type { ConvertResult } from "./convert.ts";

/** A few lines, the last one ending in a newline. */
export function summaryText(report: Report, result: ConvertResult): string {
  const unwrapped = [...report.wrappers, report.format].join(" → ");
  const lines = [
    `${result.target.replace(/:$/, "")}: ${showBytes(report.virtualSize)} disk from ${result.source} (${unwrapped}) in ${result.seconds.toFixed(2)} s`,
    `  read ${showBytes(report.bytesRead)}, wrote ${showBytes(report.bytesWritten)}, zeros ${showBytes(report.bytesZeroed)}, peak memory ${showBytes(result.maxRssBytes)}`,
    `  ${report.phases.map(({ phase, seconds }) => `${phase} ${seconds.toFixed(2)} s`).join(" · ")}`,
  ];
  const stages = stagesText(result.stages);
  if (stages !== "") lines.push(`  threads ${stages}`);
  if (report.spilledBytes > 0) {
    lines.push(
      `  ${showBytes(report.spilledBytes)} waited in a spill file: the image's tables lie far behind its data`,
    );
  }
  if (report.resumes > 0) {
    lines.push(
      `  the connection broke off ${report.resumes === 1 ? "once" : `${report.resumes} times`} and was continued`,
    );
  }
  for (const { code, message } of result.warnings) lines.push(`  warning: ${message} [${code}]`);
  return `${lines.join("\n")}\n`;
}
