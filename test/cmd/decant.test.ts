/**
 * The program as a process: how it finds a command, and how it ends.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { sampleBytes } from "../support/images.ts";
import { ROOT, runDecant } from "../support/run-decant.ts";

describe("decant", () => {
  it("shows its version, the package's", async () => {
    const { version } = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8")) as { version: string };
    for (const flag of ["--version", "-V"]) {
      const { status, stdout, stderr } = await runDecant([flag]);
      assert.deepEqual([status, stdout, stderr], [0, `decant ${version}\n`, ""]);
    }
  });

  it("shows what commands there are, every file with a run", async () => {
    const { status, stdout, stderr } = await runDecant(["--help"]);
    assert.deepEqual([status, stderr], [0, ""]);
    const files = globSync("cmd/*.ts", { cwd: ROOT }).filter((file) => {
      return /^export (async )?function run\(args/m.test(readFileSync(path.join(ROOT, file), "utf8"));
    });
    assert.ok(files.length >= 5);
    for (const file of files) assert.match(stdout, new RegExp(`^  ${path.basename(file, ".ts")} `, "m"));
    const none = await runDecant([]);
    assert.deepEqual([none.status, none.stdout, none.stderr], [2, "", stdout]);
  });

  it("shows the help of a command in both ways", async () => {
    const [topic, option] = await Promise.all([runDecant(["help", "convert"]), runDecant(["convert", "--help"])]);
    assert.deepEqual(topic, option);
    assert.equal(option.status, 0);
  });

  it("knows no other command, whatever its name", async () => {
    for (const name of ["frobnicate", "constructor", "--json"]) {
      const { status, stdout, stderr } = await runDecant([name]);
      assert.deepEqual([status, stdout], [2, ""]);
      assert.equal(stderr, `decant: there is no command "${name}"; decant --help lists them\n`);
    }
  });

  it("reads an image from its standard input and ends, though that stays open", async () => {
    const child = spawn(process.execPath, ["cmd/decant.ts", "inspect", "-"], {
      cwd: ROOT,
      stdio: ["pipe", "pipe", "inherit"],
    });
    child.stdin.on("error", () => undefined);
    child.stdin.write(Buffer.concat([sampleBytes("qcow2/plain.qcow2"), Buffer.alloc(4 * 1024 * 1024)]));
    const timer = setTimeout(() => child.kill(), 20_000);
    let text = "";
    child.stdout.on("data", (chunk: Buffer) => (text += chunk.toString()));
    const [status] = (await once(child, "exit")) as [number | null];
    clearTimeout(timer);
    assert.equal(status, 0);
    assert.match(text, /format +qcow2/);
  });

  it("does not mind that nobody reads what it says", async () => {
    const child = spawn(process.execPath, ["cmd/decant.ts", "help"], { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"] });
    child.stdout.destroy();
    let talk = "";
    child.stderr.on("data", (chunk: Buffer) => (talk += chunk.toString()));
    const [status] = (await once(child, "close")) as [number];
    assert.deepEqual([status, talk], [0, ""]);
  });
});
