import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { UsageError } from "../../../importer/errors.ts";
import { openVddk } from "../../../importer/sources/vddk.ts";
import type { VddkOptions } from "../../../importer/sources/vddk.ts";

const OPTIONS: VddkOptions = {
  uuid: "42161d28-2b0c-4a4c-9f52-5c0b0c2b7c11",
  backingFile: "[datastore] vm/disk.vmdk",
  checkpoint: { current: undefined, previous: undefined },
  arch: "x64",
  searchPath: "/nowhere",
};

describe("source: vddk", () => {
  const refused = async (changes: Partial<VddkOptions>, message: RegExp): Promise<void> => {
    await assert.rejects(openVddk({ ...OPTIONS, ...changes }), (error) => {
      assert.ok(error instanceof UsageError, String(error));
      assert.match(error.message, message);
      return true;
    });
  };

  it("says what is missing", async () => {
    await refused(
      {},
      /^VMware disks need what is not here: the program nbdkit, VMware's library under \/opt\/vmware-vix/,
    );
    await refused({ arch: "arm64" }, /^the arm64 architecture does not support VDDK$/);
    await refused(
      { checkpoint: { current: undefined, previous: "52 de" } },
      /^previous checkpoint set without current$/,
    );
    await refused({ uuid: "" }, /missing/);
    await refused({ backingFile: "" }, /missing/);
  });
});
