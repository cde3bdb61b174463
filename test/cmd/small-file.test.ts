import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { readSmallFile } from "../../cmd/small-file.ts";
import { UsageError } from "../../importer/errors.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";

describe("readSmallFile", () => {
  it("reads a file up to its limit, and says who else may", async () => {
    await withTemporaryFolder(async (folder) => {
      await Promise.resolve();
      const file = path.join(folder, "file");
      fs.writeFileSync(file, "secret");
      for (const [mode, isOpenToOthers] of [
        [0o600, false],
        [0o640, true],
        [0o604, true],
      ] as const) {
        fs.chmodSync(file, mode);
        assert.deepEqual(readSmallFile(file, 6), { bytes: Buffer.from("secret"), isOpenToOthers });
      }
      assert.throws(() => readSmallFile(file, 5), /has more than 5 bytes/);
      assert.throws(() => readSmallFile(folder, 5), UsageError);
      assert.throws(() => readSmallFile(path.join(folder, "none"), 5), /there is no file \S+none$/);
    });
  });

  it("reads a pipe to its end", async () => {
    await withTemporaryFolder(async (folder) => {
      const pipe = path.join(folder, "pipe");
      execFileSync("mkfifo", [pipe]);
      const writer = spawn("sh", ["-c", 'printf sec > "$0"; ', pipe]);
      const ended = new Promise((resolve) => writer.on("close", resolve));
      assert.deepEqual(readSmallFile(pipe, 100), { bytes: Buffer.from("sec"), isOpenToOthers: false });
      await ended;
    });
  });
});
