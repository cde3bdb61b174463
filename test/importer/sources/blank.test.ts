import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { UsageError } from "../../../importer/errors.ts";
import { openBlank } from "../../../importer/sources/blank.ts";
import { withFolder } from "../../support/loop-device.ts";
import { runDecant } from "../../support/run-decant.ts";

describe("openBlank", () => {
  it("is zeros of a size", async () => {
    const { file, size, name } = openBlank("blank:1536");
    assert.deepEqual([size, name], [1536, "blank:1536"]);
    const into = Buffer.alloc(2000, 0xee);
    assert.equal(await file?.readAt(into, 1000), 536);
    assert.ok(into.subarray(0, 536).equals(Buffer.alloc(536)));
  });

  it("refuses what is no size", () => {
    for (const name of ["blank:", "blank:0", "blank:-1", "blank:much", "blank:8Ei", `blank:${"9".repeat(200)}`]) {
      assert.throws(() => openBlank(name), UsageError, name);
    }
  });

  it("is poured without a read or a write, whatever its size", async () => {
    await withFolder(async (folder) => {
      const target = path.join(folder, "disk.raw");
      const { status, stdout, stderr } = await runDecant(["convert", "--json", "blank:2Ti", target]);
      assert.equal(status, 0, stderr);
      const { bytesRead, bytesWritten, virtualSize } = JSON.parse(stdout) as Record<string, number>;
      assert.deepEqual([bytesRead, bytesWritten, virtualSize], [0, 0, 2 ** 41]);
      const { size, blocks } = fs.statSync(target);
      assert.equal(size, 2 ** 41);
      assert.ok(blocks < 100);
    });
  });
});
