import assert from "node:assert/strict";
import os from "node:os";
import { describe, it } from "node:test";
import { childSeconds, measure, peakOf } from "../../../cmd/bench/measure.ts";

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
