/**
 * A benchmark's result with everything that one can have: several threads, peers that fail, write something else or only
 * decode, and names that would break a terminal or a page.
 */
import { figuresOf } from "../../cmd/bench/bench-report.ts";
import type { BenchReport, Entry, Run, Work } from "../../cmd/bench/bench-report.ts";

const SIZE = { storedBytes: 312 * 2 ** 20, virtualSize: 10 * 2 ** 30 };
const WRITTEN = 800e6;

/** @param seconds of each run */
function entry(name: string, seconds: readonly number[], more: Partial<Entry> = {}, own = false): Entry {
  const runs = seconds.map((took) => runOf(took, own));
  const figures = figuresOf(runs, [runOf(0.8, true)], SIZE);
  const whole = { name, peer: "qemu-img", command: `pour "$SOURCE" "$TARGET" # ${name}`, verdict: "same" as const };
  return { ...whole, failure: null, runs, figures, ...more };
}

function runOf(seconds: number, own: boolean): Run {
  const stages = {
    sourceWaitMs: 120,
    readMs: 90,
    unwrapMs: 0,
    decodeMs: 600,
    zeroSearchMs: 30,
    writeMs: 310,
    flushMs: 80,
  };
  return {
    seconds,
    cpuSeconds: seconds * 1.5,
    peakRssBytes: 88e6,
    groupPeakBytes: 190e6,
    bytesWritten: WRITTEN,
    samples: Array.from({ length: 11 }, (_, at) => [(at * seconds) / 10, (at * WRITTEN) / 10]),
    own: own ? { virtualSize: SIZE.virtualSize, bytesRead: SIZE.storedBytes, bytesWritten: WRITTEN, stages } : null,
  };
}

const LEFT_OUT = [
  { peer: "igzip", reason: "not installed: apt-get install isal brings igzip" },
  { peer: "zstd", reason: "for local files and web servers" },
  { peer: "xz", reason: "for local files and web servers" },
];

/** @param source its name: from outside */
function work(source: string, entries: readonly Entry[]): Work {
  return { source, wrappers: ["xz"], format: "qcow2", ...SIZE, entries, leftOut: LEFT_OUT };
}

export const HOSTILE_NAME = `<script>document.title='run'</script>"'&\u001b[2J\r\n`;

export function sampleReport(): BenchReport {
  return {
    command: "decant bench --runs 3",
    started: "2026-11-30T02:35:02.000Z",
    machine: { cpu: "A Processor", cores: 2, memoryBytes: 8 * 2 ** 30, kernel: "Linux", load: "0.1 0.1 0.1" },
    versions: { node: "v24", "qemu-img": "qemu-img version 7.2" },
    sink: "disk.raw",
    runs: 3,
    warmup: 1,
    works: [
      work("zlib.qcow2.xz", [
        entry("decant, 1 thread", [0.8, 0.9, 0.7], { peer: "decant" }, true),
        entry("decant, 2 threads", [0.5, 0.52, 0.48], { peer: "decant" }, true),
        entry("curl | xz; qemu-img -W -m 16", [2.4, 2.5, 3.1]),
        entry("wrong", [0.1, 0.1, 0.1], { verdict: "different" }),
        entry("gone", [], { failure: "status 2: no such thing" }),
      ]),
      work(HOSTILE_NAME, [
        entry("decant, 2 threads", [0.8], { peer: "decant" }, true),
        entry("curl | zstd --sparse", [1.6], { failure: HOSTILE_NAME }),
      ]),
    ],
  };
}
