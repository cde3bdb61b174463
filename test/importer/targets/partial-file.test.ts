import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { loadKernel } from "../../../importer/kernel.ts";
import { openTarget } from "../../../importer/targets/open-target.ts";
import { createPartial, leadsTo, partialPath } from "../../../importer/targets/partial-file.ts";
import { withFolder } from "../../support/loop-device.ts";
import { pour } from "../../suites/target.ts";

const kernel = loadKernel();

/** A process that has opened `name` as its target, and then does nothing. */
async function startWriter(name: string, kernelCalls: boolean): Promise<ChildProcess> {
  const module = new URL("../../../importer/targets/open-target.ts", import.meta.url).href;
  const script = `
    const { openTarget } = await import(${JSON.stringify(module)});
    openTarget(${JSON.stringify(name)}, { kernelCalls: ${kernelCalls} }).begin(4096);
    console.log("open");
    process.stdin.resume();`;
  const args = ["--no-warnings", "--input-type=module", "-e", script];
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  await once(child.stdout, "data");
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}

describe("partial file", () => {
  for (const theirs of [true, false]) {
    for (const ours of [true, false]) {
      const with_ = `kernel calls there: ${theirs}, here: ${ours}`;
      it(`is another process's while that runs, and a leftover once it was killed (${with_})`, async () => {
        await withFolder(async (folder) => {
          const name = path.join(folder, "disk.raw");
          const child = await startWriter(name, theirs);
          try {
            assert.deepEqual(fs.readdirSync(folder), [".disk.raw.decant-partial"]);
            assert.throws(() => openTarget(name, { kernelCalls: ours }), { code: "TARGET_BUSY" });
          } finally {
            await kill(child);
          }
          assert.deepEqual(fs.readdirSync(folder), [".disk.raw.decant-partial"]);
          pour(openTarget(name, { kernelCalls: ours }));
          assert.deepEqual(fs.readdirSync(folder), ["disk.raw"]);
        });
      });
    }
  }

  it("is held against a second target of the same process", async () => {
    await withFolder((folder) => {
      const name = path.join(folder, "disk.raw");
      const first = openTarget(name);
      assert.throws(() => openTarget(name), { code: "TARGET_BUSY" });
      first.abort();
      assert.deepEqual(fs.readdirSync(folder), []);
    });
  });

  it("does not follow a link that was planted in its place, and does not remove it", async () => {
    await withFolder((folder) => {
      const name = path.join(folder, "disk.raw");
      const victim = path.join(folder, "victim");
      fs.writeFileSync(victim, "precious");
      fs.symlinkSync(victim, partialPath(name));
      assert.throws(() => openTarget(name), { code: "TARGET_DENIED" });
      assert.equal(fs.readFileSync(victim, "latin1"), "precious");
      assert.ok(fs.lstatSync(partialPath(name)).isSymbolicLink());
    });
  });

  it("is not removed by abort once its name leads to another file", async () => {
    await withFolder((folder) => {
      const name = path.join(folder, "disk.raw");
      const target = openTarget(name);
      fs.rmSync(partialPath(name));
      const fd = createPartial(partialPath(name), kernel);
      target.abort();
      assert.equal(leadsTo(partialPath(name), fd), true);
      fs.closeSync(fd);
    });
  });

  it("has a hidden name beside the disk, never longer than a name may be", () => {
    assert.equal(partialPath("/a/disk.raw"), "/a/.disk.raw.decant-partial");
    const [long, other] = ["x", "y"].map((last) => path.basename(partialPath(`/a/${"é".repeat(125)}${last}`)));
    assert.ok(Buffer.byteLength(long ?? "") <= 255);
    assert.notEqual(long, other);
  });
});
