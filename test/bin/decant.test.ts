/**
 * The launcher: which program it starts, and whether from what was built or from the sources.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { withFolder } from "../support/loop-device.ts";

const LAUNCHER = path.join(import.meta.dirname, "..", "..", "bin", "decant");
const SOURCES = ["cmd/decant.ts", "cmd/importer.ts", "controller/plan.ts", "formats/raw.ts", "importer/engine/job.ts"];
const BUILT = ["dist/decant.js", "dist/importer.js"];

/** Seconds since 1970, of files that were made one after the other. */
const EARLIER = 1_700_000_000;
const LATER = EARLIER + 60;

/** A tree with the launcher, and with a Node.js that says what it was asked to run. @returns path below the tree */
async function entryOf(files: Readonly<Record<string, number>>, name = "decant"): Promise<string> {
  return await withFolder(async (home) => {
    for (const [file, time] of Object.entries(files)) {
      fs.mkdirSync(path.join(home, path.dirname(file)), { recursive: true });
      fs.writeFileSync(path.join(home, file), "");
      fs.utimesSync(path.join(home, file), time, time);
    }
    for (const folder of fs.globSync("**/", { cwd: home })) fs.utimesSync(path.join(home, folder), EARLIER, EARLIER);
    fs.mkdirSync(path.join(home, "bin"));
    fs.copyFileSync(LAUNCHER, path.join(home, "bin", "decant"));
    fs.writeFileSync(
      path.join(home, "bin", "node24"),
      'for entry; do case $entry in -*) ;; *) break ;; esac; done; echo "$entry"',
    );
    fs.symlinkSync("decant", path.join(home, "bin", "cdi-importer"));
    const { stdout, stderr } = spawnSync("sh", [path.join(home, "bin", name), "--version"], { encoding: "utf8" });
    assert.equal(stderr, "");
    return path.relative(fs.realpathSync(home), stdout.trimEnd());
  });
}

function at(time: number, files: readonly string[]): Record<string, number> {
  return Object.fromEntries(files.map((file) => [file, time]));
}

describe("bin/decant", () => {
  it("runs what was built where there are no sources, as in the image", async () => {
    assert.equal(await entryOf(at(EARLIER, BUILT)), "dist/decant.js");
    assert.equal(await entryOf(at(EARLIER, BUILT), "cdi-importer"), "dist/importer.js");
  });

  it("runs the sources where nothing was built", async () => {
    assert.equal(await entryOf(at(EARLIER, SOURCES)), "cmd/decant.ts");
    assert.equal(await entryOf(at(EARLIER, SOURCES), "cdi-importer"), "cmd/importer.ts");
  });

  it("runs what was built of the sources as they are", async () => {
    assert.equal(await entryOf({ ...at(EARLIER, SOURCES), ...at(LATER, BUILT) }), "dist/decant.js");
  });

  for (const source of SOURCES) {
    it(`runs the sources once ${source} is newer than what was built`, async () => {
      const files = { ...at(EARLIER, [...SOURCES, ...BUILT]), [source]: LATER };
      assert.equal(await entryOf(files), "cmd/decant.ts");
    });
  }
});
