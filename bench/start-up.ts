/**
 * How long decant takes to say its version: what every use of it costs.
 */
import { execFileSync } from "node:child_process";
import { performance } from "node:perf_hooks";
import { median } from "../cmd/bench/bench-report.ts";
import { START_SECONDS } from "./goals.ts";
import { checked } from "./verdict.ts";
import type { Checked } from "./verdict.ts";

export interface StartUp {
  /** Median of so many starts. */
  readonly seconds: Checked;
  readonly starts: number;
}

/** The first start fills caches and does not count. @throws Error where it fails */
export function measureStartUp(launcher: string, starts: number): StartUp {
  const took: number[] = [];
  for (let at = -1; at < starts; at++) {
    const began = performance.now();
    execFileSync(launcher, ["--version"], { stdio: "ignore" });
    if (at >= 0) took.push((performance.now() - began) / 1000);
  }
  return { seconds: checked(median(took), START_SECONDS), starts };
}
