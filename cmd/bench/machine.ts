/**
 * On what a benchmark ran, and which programs took part: without that a figure is worth nothing.
 */
import { execFileSync } from "node:child_process";
import os from "node:os";
import path from "node:path";
import { isExecutable } from "../../importer/executable-file.ts";
import type { BenchReport } from "./bench-report.ts";

/** @param place what is written to lies in it; undefined: nothing is written */
export function describeMachine(place: string | undefined): BenchReport["machine"] {
  return {
    cpu: os.cpus()[0]?.model ?? "unknown",
    cores: os.availableParallelism(),
    memoryBytes: os.totalmem(),
    kernel: `${os.type()} ${os.release()} ${os.arch()}`,
    ...(place === undefined ? {} : { filesystem: firstLine("stat", ["-f", "-c", "%T", place]) }),
    load: os
      .loadavg()
      .map((load) => load.toFixed(1))
      .join(" "),
  };
}

/** First line of what each says of itself; programs that are not there are left out. */
export function describeVersions(tools: readonly string[], search: string): Readonly<Record<string, string>> {
  const found = tools.filter((tool) => isOnPath(tool, search));
  return Object.fromEntries(found.map((tool) => [tool, firstLine(tool, ["--version"])]));
}

/** @param search as PATH has it */
export function isOnPath(tool: string, search: string): boolean {
  return search.split(path.delimiter).some((folder) => folder !== "" && isExecutable(path.join(folder, tool)));
}

function firstLine(command: string, args: readonly string[]): string {
  try {
    const stdio = ["ignore", "pipe", "ignore"] as const;
    return execFileSync(command, args, { encoding: "utf8", stdio: [...stdio] }).split("\n")[0] ?? "";
  } catch {
    return "unknown";
  }
}
