import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { measureStartUp } from "../../bench/start-up.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";

describe("measureStartUp", () => {
  it("starts it so often, and once more before", async () => {
    await withTemporaryFolder((folder) => {
      const program = path.join(folder, "program");
      fs.writeFileSync(program, `#!/bin/sh\necho "$@" >> "${folder}/starts"\n`, { mode: 0o755 });
      const { seconds, starts } = measureStartUp(program, 3);
      assert.equal(starts, 3);
      assert.ok(seconds.value !== null && seconds.value > 0);
      assert.equal(fs.readFileSync(path.join(folder, "starts"), "utf8"), "--version\n".repeat(4));
      return Promise.resolve();
    });
  });

  it("measures nothing that fails", () => {
    assert.throws(() => measureStartUp("/bin/false", 3));
  });
});
