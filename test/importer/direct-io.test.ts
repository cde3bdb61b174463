import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { alignedBuffer, canAlignBuffers, needsAnotherNode } from "../../importer/direct-io.ts";
import { withExt4 } from "../support/loop-device.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { requireLoopDevices, requireTools } from "../support/tools.ts";

const skip =
  requireLoopDevices() ||
  requireTools("mount", "umount", "mke2fs") ||
  (canAlignBuffers() ? false : "needs @ronomon/direct-io");

describe("alignedBuffer", { skip }, () => {
  it("is memory that O_DIRECT takes, and zeroed", async () => {
    await withExt4(16 * 1024 * 1024, (folder) => {
      const flags = fs.constants.O_RDWR | fs.constants.O_CREAT | fs.constants.O_DIRECT;
      const fd = fs.openSync(path.join(folder, "file"), flags, 0o600);
      const buffer = alignedBuffer(64 * 1024, 4096);
      assert.equal(buffer.length, 64 * 1024);
      assert.ok(buffer.every((byte) => byte === 0));
      buffer.fill(3);
      assert.equal(fs.writeSync(fd, buffer, 0, buffer.length, 0), buffer.length);
      // One byte further it is refused, which shows that the first write was direct.
      assert.throws(() => fs.writeSync(fd, buffer, 1, 4096, 0), { code: "EINVAL" });
      fs.closeSync(fd);
    });
  });
});

describe("needsAnotherNode", () => {
  it("knows an addon that is linked to a Node.js of the system", async () => {
    await withTemporaryFolder(async (folder) => {
      const addon = path.join(folder, "binding.node");
      fs.writeFileSync(addon, "\x7fELF\0libnode.so.108\0libc.so.6\0");
      assert.equal(needsAnotherNode(addon), true);
      fs.writeFileSync(addon, "\x7fELF\0libstdc++.so.6\0libc.so.6\0");
      assert.equal(needsAnotherNode(addon), false);
      await Promise.resolve();
    });
  });
});
