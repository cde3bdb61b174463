import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { writeTerminationLog } from "../../../importer/worker/termination-log.ts";
import { withTemporaryFolder } from "../../support/temporary-folder.ts";

describe("writeTerminationLog", () => {
  it("writes over what is there, and makes a new file for its owner alone", async () => {
    await withTemporaryFolder(async (folder) => {
      const log = path.join(folder, "log");
      writeTerminationLog(log, "a long message of an earlier attempt");
      assert.equal(fs.statSync(log).mode & 0o777, 0o600);
      writeTerminationLog(log, "short");
      assert.equal(fs.readFileSync(log, "utf8"), "short");
    });
  });

  it("writes nothing where there is nothing to say", async () => {
    await withTemporaryFolder(async (folder) => {
      const log = path.join(folder, "log");
      writeTerminationLog(log, undefined);
      assert.equal(fs.existsSync(log), false);
    });
  });

  it("fails where it cannot be written", () => {
    assert.throws(() => writeTerminationLog("/nowhere/log", "x"), /ENOENT/);
  });
});
