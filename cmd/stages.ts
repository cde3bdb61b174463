/**
 * Where a run's time went, as it is shown: working apart from waiting.
 */
import type { Report } from "../importer/data-processor.ts";

/** Milliseconds; what several threads spend at once is summed. In the order of the bytes. */
export interface Stages {
  /** There was nothing to do, for bytes were still on their way over the network or through a pipe. */
  readonly sourceWaitMs: number;
  /** Local files. */
  readonly readMs: number;
  /** Of wrappers: gzip, xz, tar. */
  readonly unwrapMs: number;
  /** Clusters, grains. */
  readonly decodeMs: number;
  readonly zeroSearchMs: number;
  readonly writeMs: number;
  /** At the end, until all is safely on the disk. */
  readonly flushMs: number;
}

/** What people call a stage, and what it is. */
export const STAGES: readonly {
  readonly key: keyof Stages;
  readonly name: string;
  readonly kind: "wait" | "work";
}[] = [
  { key: "sourceWaitMs", name: "source", kind: "wait" },
  { key: "readMs", name: "read", kind: "work" },
  { key: "unwrapMs", name: "unwrap", kind: "work" },
  { key: "decodeMs", name: "decode", kind: "work" },
  { key: "zeroSearchMs", name: "zero search", kind: "work" },
  { key: "writeMs", name: "write", kind: "work" },
  { key: "flushMs", name: "flush", kind: "wait" },
];

type Timed = Pick<Report, "totals" | "waitedForSourceMs" | "unwrapMs" | "flushMs">;

/** @param isLocal the source is a file here: to wait for it is to read it */
export function stagesOf({ totals, waitedForSourceMs, unwrapMs, flushMs }: Timed, isLocal: boolean): Stages {
  return {
    sourceWaitMs: rounded(totals.waitMs + (isLocal ? 0 : waitedForSourceMs)),
    readMs: rounded(totals.readMs + (isLocal ? waitedForSourceMs : 0)),
    unwrapMs: rounded(unwrapMs),
    decodeMs: rounded(totals.decodeMs),
    zeroSearchMs: rounded(totals.zeroSearchMs),
    writeMs: rounded(totals.writeMs),
    flushMs: rounded(flushMs),
  };
}

/** One line: `worked: read 0.10 s, write 0.50 s; waited: flush 0.20 s`; what took no time is not in it. */
export function stagesText(stages: Stages): string {
  const parts = (["work", "wait"] as const).map((kind) => {
    const rows = STAGES.filter((stage) => stage.kind === kind && stages[stage.key] >= 5);
    const list = rows.map(({ name, key }) => `${name} ${(stages[key] / 1000).toFixed(2)} s`).join(", ");
    return list === "" ? "" : `${kind}ed: ${list}`;
  });
  return parts.filter((part) => part !== "").join("; ");
}

/** Tenths of a millisecond. */
function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}
