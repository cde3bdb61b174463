import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { isExecutable } from "../../importer/executable-file.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";

describe("isExecutable", () => {
  it("is for files that may be run, and for links to them", async () => {
    await withTemporaryFolder(async (folder) => {
      const [program, text, link] = ["program", "text", "link"].map((name) => path.join(folder, name));
      assert.ok(program !== undefined && text !== undefined && link !== undefined);
      fs.writeFileSync(program, "#!/bin/sh\n", { mode: 0o755 });
      fs.writeFileSync(text, "words", { mode: 0o644 });
      fs.symlinkSync(program, link);
      const found = [program, text, link, folder, path.join(folder, "nothing")].map(isExecutable);
      assert.deepEqual(found, [true, false, true, false, false]);
      await Promise.resolve();
    });
  });
});
