/**
 * A conversion in the test's own process, in folders that are watched: nothing but the disk may be there, not for a moment.
 */
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import * as convert from "../../cmd/convert.ts";
import type { ConvertResult } from "../../cmd/convert.ts";
import { runCommand } from "./command-io.ts";
import { withFolder } from "./loop-device.ts";
import { until } from "./start-decant.ts";

/** Runs one at a time: the folder for temporary files is the process's. */
export async function convertAlone(
  args: readonly string[],
  expected: Buffer,
  env: Readonly<Record<string, string>> = {},
): Promise<ConvertResult> {
  return await withFolder(async (folder) => {
    const [disks, temporary] = ["disks", "tmp"].map((name) => path.join(folder, name)) as [string, string];
    for (const place of [disks, temporary]) fs.mkdirSync(place);
    const seen = new Set<string>();
    const watchers = [disks, temporary].map((place) => fs.watch(place, (_, name) => seen.add(name ?? "?")));
    const { TMPDIR } = process.env;
    process.env["TMPDIR"] = temporary;
    try {
      const target = path.join(disks, "disk.raw");
      const { status, stdout, stderr } = await runCommand(convert, ["--json", ...args, target], { env });
      assert.equal(status, 0, stderr + stdout);
      assert.ok(fs.readFileSync(target).equals(expected), "the disk");
      await until(() => seen.has("disk.raw"));
      assert.deepEqual([...seen].sort(), [".disk.raw.decant-partial", "disk.raw"], "what was there meanwhile");
      const result = JSON.parse(stdout) as ConvertResult;
      assert.equal(result.spilled, false);
      return result;
    } finally {
      if (TMPDIR === undefined) delete process.env["TMPDIR"];
      else process.env["TMPDIR"] = TMPDIR;
      for (const watcher of watchers) watcher.close();
    }
  });
}
