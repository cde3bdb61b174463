/**
 * decant bench with real programs: what it reports, what it refuses, and what it leaves behind.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import * as bench from "../../cmd/bench.ts";
import type { BenchReport, Entry } from "../../cmd/bench/bench-report.ts";
import { baseDisk } from "../support/base-disk.ts";
import { runCommand } from "../support/command-io.ts";
import type { CommandResult } from "../support/command-io.ts";
import { golden } from "../support/golden.ts";
import { withLoopDevice } from "../support/loop-device.ts";
import { withNginx } from "../support/nginx.ts";
import { imageOf } from "../support/qemu-images.ts";
import { startDecant, until } from "../support/start-decant.ts";
import { requireLoopDevices, requireTools } from "../support/tools.ts";

const MIB = 1024 * 1024;
const DISK = baseDisk(8 * MIB);
const SOURCES = ["disk.qcow2", "raw.gz"];

const skip = requireTools("qemu-img");
const PATH = process.env["PATH"] ?? "";

let folder = "";
/** Where reports are written. */
let desk = "";
before(() => {
  desk = fs.mkdtempSync("/tmp/decant-test-desk-");
  folder = fs.mkdtempSync("/tmp/decant-test-bench-");
  if (skip === false) fs.writeFileSync(path.join(folder, "disk.qcow2"), imageOf(DISK, "qcow2", ["-c"]));
  fs.writeFileSync(path.join(folder, "raw.gz"), gzipSync(DISK));
});
after(() => {
  for (const place of [folder, desk]) fs.rmSync(place, { recursive: true, force: true });
});

interface Outcome extends CommandResult {
  readonly report: BenchReport;
}

/** Runs it once over a source in the folder, which must look afterwards as it did before. */
async function race(source: string, args: readonly string[], search = PATH): Promise<Outcome> {
  const json = path.join(desk, "result.json");
  const name = source.includes("://") ? source : path.join(folder, source);
  const few = ["--runs", "1", "--warmup", "0", "--threads", "1", "--json", json];
  const before = leftovers();
  const result = await runCommand(bench, [...few, ...args, name], { env: { PATH: search } });
  const report = fs.existsSync(json) ? (JSON.parse(fs.readFileSync(json, "utf8")) as BenchReport) : undefined;
  fs.rmSync(json, { force: true });
  assert.deepEqual(leftovers(), before);
  assert.ok(report !== undefined, result.stderr);
  return { ...result, report };
}

function leftovers(): string[] {
  return fs.readdirSync(folder).sort();
}

function entriesOf({ report }: Outcome): readonly Entry[] {
  return report.works.flatMap((work) => work.entries);
}

/** A folder for the PATH with a program of this text, before all others. */
function withProgram(name: string, text: string): { readonly search: string; remove(): void } {
  const place = fs.mkdtempSync("/tmp/decant-test-path-");
  fs.writeFileSync(path.join(place, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  return { search: `${place}:${PATH}`, remove: () => fs.rmSync(place, { recursive: true, force: true }) };
}

/** The types of all values; of lists the first one's. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? [] : [shapeOf(value[0])];
  if (value === null || typeof value !== "object") return value === null ? null : typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shapeOf(one)]));
}

describe("decant bench", { skip }, () => {
  it("races decant and qemu-img into a file, and writes what it found", async () => {
    const target = path.join(folder, "disk.raw");
    const html = path.join(desk, "result.html");
    const outcome = await race("disk.qcow2", ["--to", target, "--peers", "qemu-img", "--runs", "2", "--html", html]);
    assert.match(fs.readFileSync(html, "utf8"), /<h2>.*disk\.qcow2<\/h2>/);
    assert.equal(outcome.status, 0, outcome.stderr);
    const entries = entriesOf(outcome);
    const names = entries.map(({ name, verdict, runs }) => [name, verdict, runs.length]);
    assert.deepEqual(names, [
      ["decant, 1 thread", "same", 2],
      ["qemu-img", "same", 2],
      ["qemu-img -W -m 16", "same", 2],
    ]);
    for (const { runs } of entries) {
      for (const run of runs) {
        assert.ok((run.bytesWritten ?? 0) > MIB, JSON.stringify(run));
        assert.equal(run.samples.at(-1)?.[1], run.bytesWritten);
      }
    }
    // qemu-img may be done before the clock of processes ticks, and before its memory was looked at.
    assert.ok(entries[0]?.runs.every((run) => run.peakRssBytes > MIB && run.cpuSeconds > 0));
    const [work] = outcome.report.works;
    assert.equal(work?.virtualSize, DISK.length);
    assert.equal(work.storedBytes, fs.statSync(path.join(folder, "disk.qcow2")).size);
    assert.match(outcome.stdout, /qemu-img -W -m 16 {2}/);
    assert.match(outcome.stdout, /qemu-img convert -f qcow2 -O raw "\$SOURCE" "\$TARGET" && sync "\$TARGET"/);
    const shape = JSON.stringify({ ...(shapeOf(outcome.report) as object), machine: {}, versions: {} }, undefined, 2);
    const text = `${shape.replaceAll(/"groupPeakBytes": (?:null|"number"|\{[^}]*\})/g, '"groupPeakBytes": "where there are control groups"')}\n`;
    assert.equal(
      text,
      golden("cmd/bench-json.txt", () => text),
    );
  });

  it("takes turns, with each number of threads that was asked for", async () => {
    const { stderr, status } = await race("disk.qcow2", [
      "--peers",
      "none",
      "--runs",
      "2",
      "--warmup",
      "1",
      "--threads",
      "1,2",
    ]);
    assert.equal(status, 0);
    const said = stderr
      .trimEnd()
      .split("\n")
      .map((line) => line.split(": ").at(-1));
    const both = (what: string): string[] => [`decant, 1 thread, ${what}`, `decant, 2 threads, ${what}`];
    assert.deepEqual(said, ["to compare what is written", "warming up", "run 1 of 2", "run 2 of 2"].flatMap(both));
  });

  it("finds out who writes another disk, whatever the target", async () => {
    const fake = withProgram("gzip", "head -c 1048576 /dev/zero; echo something else");
    try {
      for (const to of ["null:", path.join(folder, "disk.raw")]) {
        const outcome = await race("raw.gz", ["--to", to, "--peers", "gzip"], fake.search);
        assert.equal(outcome.status, 1);
        assert.deepEqual(
          entriesOf(outcome).map(({ verdict }) => verdict),
          ["same", "different"],
        );
        assert.match(outcome.stdout, /^gzip.*: what it wrote is another disk$/m);
      }
    } finally {
      fake.remove();
    }
  });

  it("gives a row to who fails, and says why; nobody else is stopped by it", async () => {
    const fake = withProgram("gzip", "echo no memory left >&2; exit 7");
    try {
      const outcome = await race("raw.gz", ["--to", path.join(folder, "disk.raw"), "--peers", "gzip"], fake.search);
      assert.equal(outcome.status, 0, "decant is well");
      const [own, other] = entriesOf(outcome);
      assert.equal(own?.runs.length, 1);
      assert.deepEqual([other?.runs, other?.figures], [[], null]);
      assert.equal(other?.failure, "status 7: no memory left");
    } finally {
      fake.remove();
    }
  });

  it("fails if decant does", async () => {
    fs.writeFileSync(path.join(folder, "cut.gz"), gzipSync(DISK).subarray(0, -100_000));
    try {
      const outcome = await race("cut.gz", ["--peers", "none"]);
      assert.equal(outcome.status, 1);
      assert.match(entriesOf(outcome)[0]?.failure ?? "", /^status 3: .*\[FORMAT_CORRUPT\]$/);
      assert.match(outcome.stdout, /^decant, 1 thread: failed, status 3: /m);
    } finally {
      fs.rmSync(path.join(folder, "cut.gz"));
    }
  });

  it("leaves out who is not installed, and who cannot read it, and says so", async () => {
    const place = fs.mkdtempSync("/tmp/decant-test-path-");
    try {
      for (const tool of ["sh", "dirname", "readlink", "uname", "sync"]) {
        fs.symlinkSync(
          execFileSync("sh", ["-c", `command -v ${tool}`], { encoding: "utf8" }).trim(),
          path.join(place, tool),
        );
      }
      const outcome = await race("disk.qcow2", [], place);
      assert.equal(outcome.status, 0, outcome.stderr);
      assert.equal(entriesOf(outcome).length, 1);
      const reasons = new Map(outcome.report.works[0]?.leftOut.map(({ peer, reason }) => [peer, reason]));
      assert.equal(reasons.get("qemu-img"), "not installed: apt-get install qemu-utils brings qemu-img");
      assert.equal(reasons.get("skopeo"), "for container images");
      assert.match(
        outcome.stdout.replaceAll(/\s+/g, " "),
        /left out: qemu-img \(not installed: apt-get install qemu-utils/,
      );
    } finally {
      fs.rmSync(place, { recursive: true });
    }
  });

  it("writes to a device, all of which is compared", { skip: requireLoopDevices() }, async () => {
    await withLoopDevice({ size: DISK.length + MIB }, async (device) => {
      const outcome = await race("disk.qcow2", ["--to", device, "--peers", "qemu-img"]);
      assert.equal(outcome.status, 0, outcome.stdout);
      assert.deepEqual([...new Set(entriesOf(outcome).map(({ verdict }) => verdict))], ["same"]);
      for (const { runs } of entriesOf(outcome)) assert.ok((runs[0]?.bytesWritten ?? 0) >= MIB);
    });
  });

  it("reads from a web server, and shows nobody's password", { skip: requireTools("nginx") }, async () => {
    const fake = withProgram("nbdkit", 'echo "cannot open $2" >&2; exit 1');
    try {
      await withNginx(folder, {}, async ({ port }) => {
        const url = `http://me:hunter2@127.0.0.1:${port}/disk.qcow2?token=hunter2`;
        const outcome = await race(url, ["--peers", "nbdkit"], fake.search);
        assert.equal(outcome.status, 0, outcome.stdout);
        const [own, peer] = entriesOf(outcome);
        assert.equal(own?.runs.length, 1);
        assert.match(
          peer?.failure ?? "",
          new RegExp(`^status 1: cannot open url=http://127.0.0.1:${port}/disk.qcow2$`),
        );
        assert.doesNotMatch(JSON.stringify(outcome), /hunter2/);
      });
    } finally {
      fake.remove();
    }
  });
});

describe("decant bench, interrupted", { skip }, () => {
  it("ends who is at work, and leaves nothing behind", async () => {
    const started = path.join(folder, "started");
    const fake = withProgram("gzip", `head -c 1048576 /dev/zero; echo $$ > '${started}'; exec sleep 100`);
    try {
      for (const signal of ["SIGINT", "SIGTERM"] as const) {
        const target = path.join(folder, "disk.raw");
        const args = ["bench", "--warmup", "0", "--peers", "gzip", "--to", target, path.join(folder, "raw.gz")];
        const { child, ended } = startDecant(args, { env: { PATH: fake.search } });
        await until(() => fs.existsSync(started) && fs.readFileSync(started, "utf8").endsWith("\n"));
        assert.ok(fs.existsSync(target) && leftovers().length > SOURCES.length + 1);
        child.kill(signal);
        const { status, stdout } = await ended;
        assert.deepEqual([status, stdout], [130, ""]);
        const pid = fs.readFileSync(started, "latin1").trim();
        fs.rmSync(started);
        assert.deepEqual(leftovers(), SOURCES);
        await until(
          () =>
            !fs.existsSync(`/proc/${pid}/exe`) || !fs.readFileSync(`/proc/${pid}/cmdline`, "latin1").includes("sleep"),
        );
      }
    } finally {
      fake.remove();
    }
  });
});

describe("decant bench refuses", { skip }, () => {
  async function refuses(args: readonly string[], status: number, text: RegExp): Promise<void> {
    const { stderr, ...result } = await runCommand(bench, args, { env: { PATH } });
    assert.match(stderr, text);
    assert.equal(result.status, status, stderr);
    assert.deepEqual(leftovers(), SOURCES);
  }

  it("what cannot be meant, before anything is run", async () => {
    const source = path.join(folder, "disk.qcow2");
    await refuses([], 2, /missing required argument 'source'/);
    await refuses(["-"], 2, /standard input passes once/);
    await refuses(["--runs", "0", source], 2, /whole number from 1 to 1000/);
    await refuses(["--warmup", "-1", source], 2, /whole number from 0 to 1000/);
    await refuses(["--threads", "1,,2", source], 2, /whole numbers from 1 to 64/);
    await refuses(["--peers", "cp", source], 2, /"cp" is none of qemu-img, nbdkit/);
    await refuses(["--json", "/nowhere/at/all.json", source], 2, /there is no directory/);
    await refuses(["--to", source, path.join(folder, "raw.gz")], 2, /exists/);
    await refuses(["--to", source, source], 2, /is one of the sources/);
    await refuses(["--to", "/nowhere/disk.raw", source], 2, /there is no directory/);
    await refuses([path.join(folder, "none")], 5, /there is no file/);
  });

  it("an image that decant refuses", async () => {
    const overlay = path.join(folder, "overlay");
    execFileSync("qemu-img", [
      "create",
      "-q",
      "-f",
      "qcow2",
      "-b",
      path.join(folder, "disk.qcow2"),
      "-F",
      "qcow2",
      overlay,
    ]);
    try {
      const { status, stderr } = await runCommand(bench, [overlay], { env: { PATH } });
      assert.equal(status, 3);
      assert.match(stderr, /decant refuses .*overlay: .*backing file/);
    } finally {
      fs.rmSync(overlay);
    }
  });

  it("a device that is in use", { skip: requireLoopDevices() }, async () => {
    await withLoopDevice({ size: 16 * MIB, fill: "zeros" }, async (device) => {
      execFileSync("mke2fs", ["-q", "-F", device]);
      const place = fs.mkdtempSync("/tmp/decant-test-mount-");
      execFileSync("mount", [device, place]);
      try {
        await refuses(["--to", device, path.join(folder, "disk.qcow2")], 1, /mounted at/);
      } finally {
        execFileSync("umount", [place]);
        fs.rmdirSync(place);
      }
    });
  });
});
