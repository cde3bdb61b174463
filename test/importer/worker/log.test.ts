import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import path from "node:path";
import { describe, it } from "node:test";
import { SourceError } from "../../../importer/errors.ts";
import { contractLines, openLog } from "../../../importer/worker/log.ts";
import type { Log } from "../../../importer/worker/log.ts";

const LOG_MODULE = path.join(import.meta.dirname, "../../../importer/worker/log.ts");

function recordingLog(verbosity: number): { readonly log: Log; readonly lines: string[] } {
  const lines: string[] = [];
  const log = openLog({ verbosity, write: (line) => lines.push(line), now: () => new Date(0) });
  return { log, lines };
}

describe("worker log", () => {
  it("writes one JSON object a line, the message constant and values as fields", () => {
    const { log, lines } = recordingLog(0);
    log.info("phase finished", { phase: "Info", seconds: 1.5 });
    log.warn("labels left out", { keys: ["a\nb"] });
    assert.deepEqual(lines, [
      `{"level":"info","time":"1970-01-01T00:00:00.000Z","phase":"Info","seconds":1.5,"msg":"phase finished"}\n`,
      `{"level":"warn","time":"1970-01-01T00:00:00.000Z","keys":["a\\nb"],"msg":"labels left out"}\n`,
    ]);
  });

  it("shows details from their verbosity on, everything else always", () => {
    for (const [verbosity, shown] of [
      [0, 3],
      [2, 3],
      [3, 4],
      [9, 4],
    ] as const) {
      const { log, lines } = recordingLog(verbosity);
      log.info("information");
      log.warn("warning");
      log.error("failure", new Error("broken"));
      log.detail(contractLines.syncedLevel, contractLines.synced("/data/disk.img"));
      assert.equal(lines.length, shown, `-v=${verbosity}`);
    }
  });

  it("keeps the lines that others look for", () => {
    const { log, lines } = recordingLog(3);
    log.detail(contractLines.syncedLevel, contractLines.synced("/data/disk.img"));
    log.warn(contractLines.contentType("text/html"));
    assert.match(lines[0] ?? "", /Successfully completed fsync\(\/data\/disk\.img\) syscall, committed to disk/);
    assert.match(lines[1] ?? "", /Unexpected content type 'text\/html'\. Content might not be a KubeVirt image\./);
  });

  it("blots out secrets in any field, however deep, and however JSON spells them", () => {
    const { log, lines } = recordingLog(0);
    const secret = 'say "friend"\n\u0001and enter';
    log.hide([secret, "hunter22"]);
    log.info(`a message with ${secret}`, { deep: [{ header: `Bearer ${secret}` }], password: "hunter22" });
    log.error("failed", new SourceError("SOURCE_DENIED", `no ${secret}`, { cause: new Error("it is hunter22") }));
    const text = lines.join("");
    assert.doesNotMatch(text, /friend|hunter22/);
    const [first, second] = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    assert.deepEqual(first?.["deep"], [{ header: "Bearer ***" }]);
    assert.equal(first?.["msg"], "a message with ***");
    assert.equal(second?.["error"], "no ***: it is ***");
  });

  it("stays JSON where a secret is part of its punctuation", () => {
    const { log, lines } = recordingLog(0);
    log.hide([`":"`, `","msg`, "nfoo"]);
    log.info("a\nfoo", { value: "x" });
    assert.equal((JSON.parse(lines[0] ?? "") as { msg: string }).msg, "a\nfoo");
  });

  it("shows an error's code, and the stack of a bug alone", () => {
    const { log, lines } = recordingLog(0);
    log.error("failed", new SourceError("SOURCE_NOT_FOUND", "there is none"));
    log.error("failed", new TypeError("a bug"));
    const [known, bug] = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    assert.equal(known?.["code"], "SOURCE_NOT_FOUND");
    assert.equal(known?.["stack"], undefined);
    assert.equal(bug?.["code"], "INTERNAL");
    assert.match(String(bug?.["stack"]), /TypeError: a bug/);
  });

  it("never throws: neither for values that are no data nor where nobody listens", () => {
    const lines: string[] = [];
    const endless: Record<string, unknown> = {};
    endless["self"] = endless;
    const deaf = openLog({
      verbosity: 0,
      now: () => new Date(0),
      write: (line) => {
        lines.push(line);
        throw new Error("EPIPE");
      },
    });
    deaf.info("endless", { endless });
    deaf.info("big", { value: 1n });
    assert.equal(lines.length, 2);
  });

  it("loses no line at exit, also on a pipe", () => {
    const program = `
      const { openLog, writeToStandardError } = await import(${JSON.stringify(LOG_MODULE)});
      const log = openLog({ verbosity: 0, write: writeToStandardError, now: () => new Date(0) });
      for (let line = 0; line < 2000; line++) log.info("line", { line, filler: "x".repeat(200) });
      process.exit(3);`;
    const { status, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
      encoding: "utf8",
      maxBuffer: 4 * 1024 * 1024,
    });
    assert.equal(status, 3);
    assert.equal(stderr.trimEnd().split("\n").length, 2000);
    assert.match(stderr, /"line":1999/);
  });
});
