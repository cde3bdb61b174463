import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import { describe, it } from "node:test";
import { childSeconds, LineFailed, measure, peakOf } from "../../../cmd/bench/measure.ts";
import { Interrupted } from "../../../importer/errors.ts";
import { until } from "../../support/start-decant.ts";

describe("measure", () => {
  it("sees the memory and the time of what a line starts, and not the shell's", async () => {
    const grow = `'const kept = Buffer.alloc(120e6, 1); const end = Date.now() + 300; while (Date.now() < end) kept[0] ^= 1'`;
    const one = await measure(`"$NODE" -e ${grow}`, { NODE: process.execPath }, os.tmpdir());
    assert.ok(one.peakRssBytes > 120e6 && one.peakRssBytes < 250e6, `${one.peakRssBytes} bytes`);
    assert.ok(one.seconds >= 0.3, `${one.seconds} s`);
    assert.ok(one.cpuSeconds > 0.05, `${one.cpuSeconds} s of CPU time`);
    const two = await measure(`"$NODE" -e ${grow} | "$NODE" -e ${grow}`, { NODE: process.execPath }, os.tmpdir());
    assert.ok(two.peakRssBytes > 240e6, `${two.peakRssBytes} bytes of two processes`);
  });

  it("fails with what the line said", async () => {
    await assert.rejects(measure("echo no luck >&2; exit 3", {}, os.tmpdir()), /status 3\nno luck/);
    await assert.rejects(measure("false | cat", {}, os.tmpdir()), /status 1/);
    await assert.rejects(measure("echo this >&1; kill -9 $$", {}, os.tmpdir()), (error: LineFailed) => {
      return error instanceof LineFailed && error.status === 137 && error.stdout === "this\n";
    });
  });

  it("gives what the line prints, the end of what is too long", async () => {
    const { stdout, stderr } = await measure("seq 100000; echo said >&2", {}, os.tmpdir());
    assert.ok(stdout.length <= 65_536 && stdout.endsWith("99999\n100000\n"));
    assert.equal(stderr, "said\n");
  });

  it("watches, listens, and hands a name on as it is", async () => {
    const heard: string[] = [];
    let asked = 0;
    const { samples, stdout } = await measure(
      `echo one >&2; sleep 0.3; printf %s "$NAME"`,
      { NAME: `$(echo no) 'x' "` },
      os.tmpdir(),
      { watch: () => (asked += 1), heard: (text) => heard.push(text) },
    );
    assert.equal(stdout, `$(echo no) 'x' "`);
    assert.deepEqual(heard, ["one\n"]);
    assert.ok(samples.length >= 2 && samples.length === asked);
    assert.deepEqual(
      samples.map(([, value]) => value),
      samples.map((_, at) => at + 1),
    );
  });

  it("ends all that a line started when it is told to stop", async () => {
    const stop = new AbortController();
    const pids: number[] = [];
    const heard = (text: string): void => {
      pids.push(...text.trim().split(" ").map(Number));
      stop.abort();
    };
    const line = "sleep 100 & sleep 100 & echo $! $$ >&2; wait";
    await assert.rejects(measure(line, {}, os.tmpdir(), { signal: stop.signal, heard }), Interrupted);
    assert.equal(pids.length, 2);
    // Whoever inherits them takes a moment to bury them.
    await until(() => !pids.some(isRunning));
    await assert.rejects(measure("true", {}, os.tmpdir(), { signal: stop.signal }), Interrupted);
  });
});

describe("peakOf", () => {
  it("takes the high-water mark, in bytes", () => {
    assert.equal(peakOf("Name:\tnode\nVmPeak:\t  900 kB\nVmHWM:\t  512 kB\nVmRSS:\t  100 kB\n"), 512 * 1024);
    assert.equal(peakOf("Name:\tkthreadd\n"), 0);
    assert.equal(peakOf(""), 0);
  });
});

describe("childSeconds", () => {
  it("adds user and system time of the children", () => {
    assert.equal(childSeconds("0m0.00s 0m0.01s\n1m2.50s 0m0.25s\n"), 62.75);
    assert.equal(childSeconds("0m0.000s 0m0.001s\n0m0.300s 0m0.200s\n"), 0.5);
  });

  it("refuses anything else", () => {
    assert.throws(() => childSeconds("0.00s 0.01s\n"), /times/);
  });
});

/** False also of one that nobody has waited for yet. */
function isRunning(pid: number): boolean {
  try {
    return !/\) Z /.test(fs.readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false;
  }
}
