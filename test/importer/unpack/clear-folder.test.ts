import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { clearFolder } from "../../../importer/unpack/clear-folder.ts";
import { withFolder, withTmpfs } from "../../support/loop-device.ts";
import { requireRoot } from "../../support/tools.ts";

describe("clearFolder", () => {
  it("removes everything in the folder, follows no link, and leaves the folder", async () => {
    await withFolder((outer) => {
      const folder = path.join(outer, "volume");
      fs.mkdirSync(path.join(folder, "a", "b", "c"), { recursive: true });
      fs.writeFileSync(path.join(outer, "victim"), "untouched");
      fs.mkdirSync(path.join(outer, "others"));
      fs.writeFileSync(path.join(outer, "others", "file"), "untouched");
      fs.writeFileSync(path.join(folder, "a", "b", "file"), "x");
      fs.symlinkSync("../../victim", path.join(folder, "a", "to-file"));
      fs.symlinkSync("../others", path.join(folder, "to-folder"));
      fs.writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.of(0xff)]), "x");
      fs.chmodSync(path.join(folder, "a", "b"), 0);
      assert.equal(clearFolder(folder), 0);
      assert.deepEqual(fs.readdirSync(folder), []);
      assert.deepEqual(fs.readdirSync(outer), ["others", "victim", "volume"]);
      assert.deepEqual(fs.readdirSync(path.join(outer, "others")), ["file"]);
    });
  });

  it("says how much stays", { skip: requireRoot() }, async () => {
    await withTmpfs(1024 * 1024, (mount) => {
      // What is mounted cannot be removed.
      assert.throws(() => fs.rmdirSync(mount), { code: "EBUSY" });
      const parent = path.dirname(mount);
      if (fs.readdirSync(parent).length === 1) assert.equal(clearFolder(parent), 1);
    });
  });
});
