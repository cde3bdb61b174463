import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { summaryText } from "../../cmd/summary.ts";
import { stagesOf } from "../../cmd/stages.ts";
import { Counters } from "../../importer/engine/counters.ts";
import type { Report } from "../../importer/data-processor.ts";
import { golden } from "../support/golden.ts";

function summary(report: Partial<Report>, target = "disk.raw"): string {
  const counters = new Counters();
  for (const [i, name] of (["readMs", "decodeMs", "zeroSearchMs", "writeMs"] as const).entries())
    counters.add(name, 1110 * (i + 1));
  const whole: Report = {
    wrappers: [],
    format: "raw",
    virtualSize: 512,
    bytesRead: 0,
    bytesWritten: 0,
    bytesZeroed: 512,
    spilledBytes: 0,
    resumes: 0,
    warnings: [],
    phases: [],
    totals: counters.totals(),
    waitedForSourceMs: 500,
    unwrapMs: 5550,
    flushMs: 6660,
    digest: undefined,
    ...report,
  };
  const stages = stagesOf(whole, false);
  const result = {
    ...whole,
    stages,
    source: "image.xz",
    target,
    spilled: false,
    seconds: 3.004,
    maxRssBytes: 99 << 20,
  };
  return summaryText(whole, { ...result, digest: "" });
}

describe("summaryText", () => {
  it("says what was done, where the time went and what was odd", () => {
    const text = [
      summary({ format: "raw", phases: [{ phase: "Info", outcome: "random-access", seconds: 0.014 }] }),
      summary(
        {
          wrappers: ["xz", "tar"],
          format: "qcow2",
          virtualSize: 10 * 2 ** 30,
          bytesRead: 1_234_567_890,
          bytesWritten: 3 * 2 ** 30,
          bytesZeroed: 7 * 2 ** 30,
          spilledBytes: 30 * 2 ** 20,
          resumes: 3,
          warnings: [{ code: "QCOW2_DIRTY", message: "the image was not closed properly" }],
          phases: [
            { phase: "Info", outcome: "stream", seconds: 0.2 },
            { phase: "Transfer", outcome: "spilled", seconds: 2 },
            { phase: "Complete", outcome: undefined, seconds: 0.8 },
          ],
        },
        "null:",
      ),
    ].join("\n");
    assert.equal(
      text,
      golden("cmd/summary.txt", () => text),
    );
  });
});
