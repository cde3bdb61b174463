import type { BenchReport } from "./bench-report.ts";
export function resultPage(report: BenchReport): string {
  return JSON.stringify(report);
}
