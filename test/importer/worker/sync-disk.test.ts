import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { TargetError } from "../../../importer/errors.ts";
import { openLog } from "../../../importer/worker/log.ts";
import { syncDisk } from "../../../importer/worker/sync-disk.ts";
import { withTemporaryFolder } from "../../support/temporary-folder.ts";

describe("syncDisk", () => {
  it("takes files and folders, and says so in words that others look for", async () => {
    await withTemporaryFolder(async (folder) => {
      const lines: string[] = [];
      const log = openLog({ verbosity: 3, write: (line) => void lines.push(line), now: () => new Date(0) });
      const file = path.join(folder, "disk.img");
      fs.writeFileSync(file, "x");
      for (const place of [file, folder]) {
        syncDisk(place, log);
        assert.ok(lines.pop()?.includes(`"Successfully completed fsync(${place}) syscall, committed to disk"`));
      }
      assert.throws(
        () => syncDisk(path.join(folder, "nothing"), log),
        (error) => error instanceof TargetError,
      );
      assert.deepEqual(lines, []);
    });
  });
});
