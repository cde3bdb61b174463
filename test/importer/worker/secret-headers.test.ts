import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { UsageError } from "../../../importer/errors.ts";
import { readSecretHeaders } from "../../../importer/worker/secret-headers.ts";
import { withTemporaryFolder } from "../../support/temporary-folder.ts";

function write(folder: string, name: string, text: string | Buffer): void {
  const file = path.join(folder, name);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, text);
}

describe("readSecretHeaders", () => {
  it("finds none where there is no folder", () => {
    assert.deepEqual(readSecretHeaders("/nowhere/headers"), []);
  });

  it("reads files in the order of their names, through links, and passes over names with a dot", async () => {
    await withTemporaryFolder(async (folder) => {
      write(folder, "1/..2026/key", "B: 2\n");
      fs.symlinkSync("..2026", path.join(folder, "1/..data"));
      fs.symlinkSync("..data/key", path.join(folder, "1/key"));
      write(folder, "0/z", "A: 2");
      write(folder, "0/a", "A: 1");
      write(folder, "10/a", "between");
      write(folder, ".hidden", "never");
      fs.symlinkSync("0", path.join(folder, "link-to-folder"));
      assert.deepEqual(readSecretHeaders(folder), ["A: 1", "A: 2", "B: 2\n", "between"]);
    });
  });

  it("refuses too many, too deep and too long ones, and links that lead nowhere", async () => {
    const makers: readonly (readonly [reason: RegExp, make: (folder: string) => void])[] = [
      [/more than 256/, (folder) => Array.from({ length: 257 }, (_, i) => write(folder, `h${i}`, "A: 1"))],
      [/too deep/, (folder) => write(folder, "1/2/3/4/5/6/7/8/9/h", "A: 1")],
      [/longer than 65536/, (folder) => write(folder, "h", Buffer.alloc(65_537, 65))],
      [/cannot be read/, (folder) => fs.symlinkSync("nowhere", path.join(folder, "h"))],
    ];
    for (const [reason, make] of makers) {
      await withTemporaryFolder(async (folder) => {
        make(folder);
        assert.throws(
          () => readSecretHeaders(folder),
          (error) => error instanceof UsageError && reason.test(error.message),
        );
      });
    }
  });

  it("takes one of the longest", async () => {
    await withTemporaryFolder(async (folder) => {
      write(folder, "h", Buffer.alloc(65_536, 65));
      assert.equal(readSecretHeaders(folder)[0]?.length, 65_536);
    });
  });
});
