import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { FormatError } from "../../formats/errors.ts";
import { TargetError } from "../../importer/errors.ts";
import { spillInto } from "../../importer/spill-file.ts";
import { withFolder, withTmpfs } from "../support/loop-device.ts";
import { requireRoot, requireTools } from "../support/tools.ts";

describe("spill file", () => {
  it("gives back what was written at its offset, takes no space between, and leaves no name", async () => {
    await withFolder((folder) => {
      const spill = spillInto(folder);
      assert.deepEqual(fs.readdirSync(folder), []);
      const far = 2 ** 40;
      spill.write(Buffer.from("far"), far);
      spill.write(Buffer.from("near"), 10);
      const into = Buffer.alloc(3);
      spill.read(into, far);
      assert.equal(into.toString(), "far");
      spill.read(into, 11);
      assert.equal(into.toString(), "ear");
      assert.throws(() => spill.read(into, far + 1), /too short/);
      spill.close();
      assert.deepEqual(fs.readdirSync(folder), []);
    });
  });

  it("says that there is no place for it, and what helps", () => {
    assert.throws(
      () => spillInto(undefined),
      (error) => {
        return (
          error instanceof FormatError && error.code === "FORMAT_UNSUPPORTED" && /--scratch/.test(error.remedy ?? "")
        );
      },
    );
    assert.throws(
      () => spillInto(path.join(import.meta.dirname, "no such folder")),
      (error) => error instanceof TargetError && /cannot create a temporary file in/.test(error.message),
    );
  });

  it("says that its folder is full", { skip: requireRoot() || requireTools("mount", "umount") }, async () => {
    await withTmpfs(1024 * 1024, (folder) => {
      const spill = spillInto(folder);
      assert.throws(
        () => spill.write(Buffer.alloc(2 * 1024 * 1024), 0),
        (error) => error instanceof TargetError && error.code === "TARGET_NO_SPACE" && error.message.includes(folder),
      );
      spill.close();
    });
  });
});
