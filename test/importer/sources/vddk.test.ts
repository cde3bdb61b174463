import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { SourceError, UsageError } from "../../../importer/errors.ts";
import { errorText } from "../../../importer/outcome.ts";
import { openVddk } from "../../../importer/sources/vddk.ts";
import type { VddkOptions } from "../../../importer/sources/vddk.ts";
import { baseDisk } from "../../support/base-disk.ts";
import { withNbdServer } from "../../support/nbd-server.ts";
import { sourceFacts } from "../../support/source-facts.ts";
import { withTemporaryFolder } from "../../support/temporary-folder.ts";
import { requireTools } from "../../support/tools.ts";

const OPTIONS: VddkOptions = {
  uuid: "42161d28-2b0c-4a4c-9f52-5c0b0c2b7c11",
  backingFile: "[datastore] vm/disk.vmdk",
  checkpoint: { current: undefined, previous: undefined },
  socket: undefined,
  stallMs: 2000,
  signal: new AbortController().signal,
  arch: "x64",
  searchPath: "/nowhere",
};

async function refused(changes: Partial<VddkOptions>, words: RegExp): Promise<void> {
  await assert.rejects(openVddk({ ...OPTIONS, ...changes }), (error) => {
    assert.ok(error instanceof UsageError, String(error));
    assert.match(errorText(error), words);
    return true;
  });
}

describe("source: vddk", () => {
  it("says what is missing, and what to do about it", async () => {
    const words =
      /^a VMware disk needs what is not here: the program nbdkit, VMware's library under \/opt\/vmware-vix-disklib-distrib, the socket of an nbdkit .* DECANT_NBDKIT_SOCKET\.$/;
    await refused({}, words);
    await refused({ arch: "arm64" }, /^the arm64 architecture does not support VDDK\. .*amd64 only/);
    await refused({ uuid: "" }, /missing$/);
    await refused({ backingFile: "" }, /missing$/);
  });

  it("names checkpoints", async () => {
    await refused(
      { checkpoint: { current: undefined, previous: "52 de" } },
      /^previous checkpoint set without current$/,
    );
    const current = { current: "snapshot-7", previous: undefined };
    await refused({ socket: "/nowhere", checkpoint: current }, /^checkpoints of VMware disks are not supported/);
  });

  it("reads the disk that an nbdkit serves", { skip: requireTools("nbdkit") }, async () => {
    await withTemporaryFolder(async (folder) => {
      const disk = baseDisk(3_000_320);
      const file = path.join(folder, "disk.raw");
      fs.writeFileSync(file, disk);
      await withNbdServer(folder, ["nbdkit", "file", file], async (socket) => {
        const facts = await sourceFacts(await openVddk({ ...OPTIONS, arch: "arm64", socket }));
        assert.deepEqual(
          [facts.name, facts.size, facts.length],
          ["VMware disk [datastore] vm/disk.vmdk", disk.length, disk.length],
        );
      });
    });
  });

  it("says that nothing serves it", async () => {
    await assert.rejects(openVddk({ ...OPTIONS, socket: "/nowhere/nbd.sock" }), (error) => {
      assert.ok(error instanceof SourceError && error.code === "SOURCE_UNAVAILABLE", String(error));
      return true;
    });
  });
});
