import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { HeldFolder } from "../../../importer/unpack/held-folder.ts";
import { withFolder } from "../../support/loop-device.ts";

async function withHeld(use: (held: HeldFolder, folder: string) => void): Promise<void> {
  await withFolder((folder) => {
    const held = HeldFolder.open(folder);
    try {
      use(held, folder);
    } finally {
      held.close();
    }
  });
}

const name = (text: string): Buffer => Buffer.from(text);

describe("held folder", () => {
  it("is the same folder when another one takes its name", async () => {
    await withFolder((outer) => {
      const [here, moved, victim] = ["here", "moved", "victim"].map((part) => path.join(outer, part)) as [
        string,
        string,
        string,
      ];
      fs.mkdirSync(here);
      fs.mkdirSync(victim);
      const held = HeldFolder.open(here);
      fs.renameSync(here, moved);
      fs.symlinkSync(victim, here);
      fs.closeSync(held.createFile(name("file")));
      held.makeFolder(name("folder"), true);
      held.close();
      assert.deepEqual(fs.readdirSync(moved), ["file", "folder"]);
      assert.deepEqual(fs.readdirSync(victim), []);
    });
  });

  it("follows no link", async () => {
    await withHeld((held, folder) => {
      fs.mkdirSync(path.join(folder, "real"));
      fs.symlinkSync("real", path.join(folder, "link"));
      fs.symlinkSync("missing", path.join(folder, "dangling"));
      assert.throws(() => held.enter(name("link")), { code: "ENOTDIR" });
      assert.throws(() => held.createFile(name("dangling")), { code: "EEXIST" });
      assert.throws(() => held.makeFolder(name("dangling"), true), { code: "EEXIST" });
      assert.equal(held.stat(name("link"))?.isSymbolicLink(), true);
      held.setAttributesOf(name("link"), { mode: 0, modifiedAt: 1000 });
      assert.notEqual(fs.statSync(path.join(folder, "real")).mode & 0o777, 0);
      assert.equal(fs.lstatSync(path.join(folder, "link")).mtimeMs, 1_000_000);
      held.remove(name("link"));
      assert.deepEqual(fs.readdirSync(folder), ["dangling", "real"]);
      assert.equal(held.enter(name("missing")), undefined);
    });
  });

  it("takes no name that is a path", async () => {
    await withHeld((held) => {
      for (const bad of ["", ".", "..", "a/b", "/", "../x", "a\0"]) {
        assert.throws(() => held.createFile(name(bad)), /not the name/, JSON.stringify(bad));
        assert.throws(() => held.enter(name(bad)), /not the name/, JSON.stringify(bad));
        assert.throws(() => held.remove(name(bad)), /not the name/, JSON.stringify(bad));
      }
      fs.closeSync(held.createFile(name("...")));
    });
  });
});
