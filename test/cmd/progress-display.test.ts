import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import path from "node:path";
import { describe, it } from "node:test";
import { showProgress } from "../../cmd/progress-display.ts";
import type { ProgressStyle } from "../../cmd/progress-display.ts";
import type { CommandIo } from "../../cmd/command-io.ts";
import type { Progress } from "../../importer/data-processor.ts";
import { ROOT } from "../support/run-decant.ts";
import { requireTools } from "../support/tools.ts";

const MIB = 1024 * 1024;

/** What is written in `seconds`, while `sample` is asked. */
function linesOf(
  context: {
    mock: { timers: { enable(options: { apis: ["setInterval"] }): void; tick(ms: number): void; reset(): void } };
  },
  style: ProgressStyle,
  seconds: number,
  sample: () => Progress,
): string[] {
  const lines: string[] = [];
  const output = { write: (text: string) => void lines.push(text), isTTY: false, columns: 80 };
  const io = { stdout: output, stderr: output } as unknown as CommandIo;
  context.mock.timers.enable({ apis: ["setInterval"] });
  try {
    const stop = showProgress(style, io, sample);
    for (let at = 0; at < seconds; at++) context.mock.timers.tick(1000);
    stop();
    context.mock.timers.tick(60_000);
    return lines;
  } finally {
    context.mock.timers.reset();
  }
}

describe("showProgress", () => {
  it("writes a line every five seconds where there is no terminal, until it is stopped", (context) => {
    let done = 0;
    for (const style of ["auto", "plain"] as const) {
      done = 0;
      const lines = linesOf(context, style, 16, () => ({ phase: "Transfer", done: (done += MIB), total: 4 * MIB }));
      assert.equal(lines.length, 3);
      assert.match(lines[0] ?? "", /^Transfer {2}25\.0 % {2}1 MiB of 4 MiB\n$/);
      assert.match(lines[2] ?? "", /^Transfer {2}75\.0 % {2}3 MiB of 4 MiB {2}.* [KMGTP]iB\/s {2}.* left\n$/);
    }
  });

  it("writes JSON for programs, ten times a second and once at the end", (context) => {
    let done = 0;
    const lines = linesOf(context, "json", 2, () => ({ phase: "Convert", done: (done += 1), total: undefined }));
    assert.equal(lines.length, 21);
    assert.deepEqual(JSON.parse(lines[20] ?? ""), { phase: "Convert", done: 21 });
  });

  it("says no share and no time left where the end is not known", (context) => {
    for (const total of [undefined, 0]) {
      const lines = linesOf(context, "plain", 5, () => ({ phase: "Info", done: 1536, total }));
      assert.deepEqual(lines, ["Info  1.50 KiB\n"]);
    }
  });

  it("shows nothing where that was asked for", (context) => {
    const lines = linesOf(context, "none", 30, () => {
      throw new Error("nobody asked");
    });
    assert.deepEqual(lines, []);
  });

  it("draws a bar on a terminal and takes it away at the end", { skip: requireTools("script") }, () => {
    // The image's contents do not matter: a bar is drawn at the start.
    const image = path.join(ROOT, "images", "qcow2", "two-partitions.qcow2");
    const command = `'${process.execPath}' cmd/decant.ts convert '${image}' null:`;
    const shown = execFileSync("script", ["-qec", command, "/dev/null"], { cwd: ROOT, encoding: "latin1" });
    assert.match(shown, /Info \[-{30}\]/);
    const [, end = ""] =
      /.*\[[-=#█░]{30}\]([^]*)null: 64 MiB disk from/.exec(shown.slice(shown.lastIndexOf("Info ["))) ?? [];
    assert.ok(end.includes("\u001b[2K"), "its line is cleared");
    assert.ok(end.includes("\u001b[?25h"), "the cursor is back");
  });
});
