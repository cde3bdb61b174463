import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import * as inspect from "../../cmd/inspect.ts";
import type { Inspection } from "../../cmd/inspect.ts";
import { runCommand } from "../support/command-io.ts";
import { golden } from "../support/golden.ts";
import { sampleBytes, samples } from "../support/images.ts";
import { withFolder } from "../support/loop-device.ts";
import { runDecant } from "../support/run-decant.ts";

/** What inspect says of every sample, in the manifest's order. */
async function inspectAll(...options: readonly string[]): Promise<string> {
  return await withFolder(async (folder) => {
    const texts: string[] = [];
    for (const { name, refused } of samples()) {
      const file = path.join(folder, path.basename(name));
      fs.writeFileSync(file, sampleBytes(name));
      const { status, stdout, stderr } = await runCommand(inspect, [...options, file]);
      assert.equal(stderr, "");
      assert.equal(status, stdout.includes("FORMAT_") ? 3 : 0, name);
      if (refused !== undefined) assert.equal(status, 3, name);
      texts.push(stdout.replace(file, name));
    }
    return texts.join("\n");
  });
}

describe("decant inspect", () => {
  it("describes every sample, refused or not", async () => {
    const text = await inspectAll();
    assert.equal(
      text,
      golden("cmd/inspect.txt", () => text),
    );
  });

  it("says the same as JSON", async () => {
    const text = await inspectAll("--json");
    assert.equal(
      text,
      golden("cmd/inspect-json.txt", () => text),
    );
  });

  it("agrees with the manifest on format, size and wrappers", async () => {
    await withFolder(async (folder) => {
      for (const sample of samples()) {
        const file = path.join(folder, "image");
        fs.writeFileSync(file, sampleBytes(sample.name));
        const { stdout } = await runCommand(inspect, ["--json", file]);
        const said = JSON.parse(stdout) as Inspection;
        if (said.refused !== null) continue;
        assert.deepEqual(said.wrappers, sample.wrappers, sample.name);
        assert.equal(said.format, sample.format, sample.name);
        if (said.virtualSize !== null) assert.equal(said.virtualSize, sample.virtualSize, sample.name);
      }
    });
  });

  it("reads no more than the headers of a stream", async () => {
    const image = sampleBytes("qcow2/plain.qcow2");
    // A stream that ends behind the headers is as good.
    const { status, stdout } = await runDecant(["inspect", "--json", "-"], { input: image.subarray(0, 70_000) });
    const said = JSON.parse(stdout) as Inspection;
    assert.deepEqual(
      [status, said.source, said.format, said.virtualSize, said.storedSize],
      [0, "standard input", "qcow2", 4_195_840, null],
    );
  });

  it("fails where there is nothing to look at", async () => {
    const missing = await runCommand(inspect, ["no such image"]);
    assert.deepEqual([missing.status, missing.stdout], [5, ""]);
    assert.match(missing.stderr, /there is no file no such image/);
  });
});
