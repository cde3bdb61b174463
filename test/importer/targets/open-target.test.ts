import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { openTarget } from "../../../importer/targets/open-target.ts";
import { withFolder } from "../../support/loop-device.ts";
import { requireRoot } from "../../support/tools.ts";
import { assertSame, pour } from "../../suites/target.ts";

describe("openTarget", () => {
  const refused: readonly {
    readonly what: string;
    readonly name: string;
    readonly message: RegExp;
    readonly remedy?: RegExp;
  }[] = [
    { what: "a file that exists", name: "file", message: /exists$/, remedy: /--force/ },
    { what: "a directory", name: "folder", message: /is a directory$/ },
    { what: "a name that ends as a directory", name: "new/", message: /names no file$/ },
    { what: "a missing directory", name: "missing/disk.raw", message: /there is no directory .*missing$/ },
    { what: "a file as a directory", name: "file/disk.raw", message: /there is no directory .*file$/ },
    { what: "a link that leads nowhere", name: "dangling", message: /leads nowhere$/ },
    { what: "a pipe", name: "pipe", message: /neither a file nor a block device$/, remedy: /null:/ },
  ];
  for (const { what, name, message, remedy } of refused) {
    it(`refuses ${what} in one sentence, and leaves nothing`, async () => {
      await withFolder((folder) => {
        fs.writeFileSync(path.join(folder, "file"), "old");
        fs.mkdirSync(path.join(folder, "folder"));
        fs.symlinkSync("nowhere", path.join(folder, "dangling"));
        execFileSync("mkfifo", [path.join(folder, "pipe")]);
        const before = fs.readdirSync(folder);
        assert.throws(
          () => openTarget(`${folder}/${name}`),
          (error: Error & { code?: string; remedy?: string }) => {
            assert.equal(error.code, "USAGE");
            assert.match(error.message, message);
            if (remedy !== undefined) assert.match(error.remedy ?? "", remedy);
            return true;
          },
        );
        assert.deepEqual(fs.readdirSync(folder), before);
      });
    });
  }

  it("replaces the file that a link leads to, in its place", async () => {
    await withFolder((folder) => {
      fs.mkdirSync(path.join(folder, "real"));
      fs.writeFileSync(path.join(folder, "real/disk.raw"), "old");
      fs.symlinkSync("real/disk.raw", path.join(folder, "link"));
      const disk = pour(openTarget(path.join(folder, "link"), { force: true }));
      assert.ok(fs.lstatSync(path.join(folder, "link")).isSymbolicLink());
      assertSame(fs.readFileSync(path.join(folder, "real/disk.raw")), disk);
      assert.deepEqual(fs.readdirSync(path.join(folder, "real")), ["disk.raw"]);
    });
  });

  it("says that permission is denied", { skip: requireRoot() }, async () => {
    await withFolder((folder) => {
      const name = path.join(folder, "disk.raw");
      fs.chmodSync(folder, 0o755);
      const module = new URL("../../../importer/targets/open-target.ts", import.meta.url).href;
      const script = `
        const { openTarget } = await import(${JSON.stringify(module)});
        process.setegid(65534); process.seteuid(65534);
        try { openTarget(${JSON.stringify(name)}); } catch (error) { console.log(error.code, error.message); }`;
      const args = ["--no-warnings", "--input-type=module", "-e", script];
      const text = execFileSync(process.execPath, args, { encoding: "utf8" });
      assert.match(text, /^TARGET_DENIED cannot create .*disk\.raw: permission is denied$/m);
    });
  });
});
