import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { SourceError } from "../../../importer/errors.ts";
import { openFile } from "../../../importer/sources/file.ts";
import { describeSource } from "../../suites/source.ts";
import { withFolder, withLoopDevice } from "../../support/loop-device.ts";
import { sourceFacts } from "../../support/source-facts.ts";
import { requireLoopDevices } from "../../support/tools.ts";

describeSource("file", {
  passesOnce: false,
  facts: async (bytes) =>
    await withFolder(async (folder) => {
      const file = path.join(folder, "image");
      fs.writeFileSync(file, bytes);
      return await sourceFacts(openFile(file));
    }),
});

describeSource("block device", {
  skip: requireLoopDevices(),
  passesOnce: false,
  unit: 4096,
  facts: async (bytes) =>
    await withLoopDevice({ size: bytes.length }, async (device) => {
      fs.writeFileSync(device, bytes);
      return await sourceFacts(openFile(device));
    }),
});

describeSource("named pipe", {
  passesOnce: true,
  facts: async (bytes) =>
    await withFolder(async (folder) => {
      const pipe = path.join(folder, "pipe");
      execFileSync("mkfifo", [pipe]);
      const written = fs.promises.writeFile(pipe, bytes);
      // Opening a pipe waits for its writer, which this process is: both ends are opened at once.
      const own = fs.openSync(pipe, "r+");
      try {
        const source = openFile(pipe);
        const facts = sourceFacts(source);
        await written;
        fs.closeSync(own);
        return await facts;
      } catch (error) {
        fs.closeSync(own);
        throw error;
      }
    }),
});

describe("openFile", () => {
  it("says what is wrong with a path", async () => {
    await withFolder((folder) => {
      const missing = path.join(folder, "missing.qcow2");
      const rows: readonly [string, string, RegExp][] = [
        [missing, "SOURCE_NOT_FOUND", /there is no file .*missing\.qcow2/],
        [path.join(import.meta.filename, "below"), "SOURCE_NOT_FOUND", /there is no file/],
        [folder, "SOURCE_UNAVAILABLE", /is a directory/],
      ];
      const open = fs.readdirSync("/proc/self/fd").length;
      for (const [name, code, sentence] of rows) {
        assert.throws(
          () => openFile(name),
          (error) => error instanceof SourceError && error.code === code && sentence.test(error.message),
        );
      }
      assert.equal(fs.readdirSync("/proc/self/fd").length, open, "nothing stays open");
    });
  });

  it("opens for reading only", async () => {
    await withFolder((folder) => {
      const file = path.join(folder, "image");
      fs.writeFileSync(file, "image");
      const source = openFile(file);
      assert.throws(() => fs.writeSync(source.file?.spec.fd ?? -1, "x"), { code: "EBADF" });
      source.close();
    });
  });
});
