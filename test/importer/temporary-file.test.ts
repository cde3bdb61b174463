import assert from "node:assert/strict";
import fs from "node:fs";
import { describe, it } from "node:test";
import { TargetError } from "../../importer/errors.ts";
import { copyToTemporary, openUnnamed } from "../../importer/temporary-file.ts";
import { withFolder, withTmpfs } from "../support/loop-device.ts";
import { failingStream, streamOf } from "../support/streams.ts";
import { requireRoot, requireTools } from "../support/tools.ts";

const MIB = 1024 * 1024;

describe("copyToTemporary", () => {
  it("copies a stream to its end, without its zeros and without a name", async () => {
    await withFolder(async (folder) => {
      const bytes = Buffer.alloc(20 * MIB + 777);
      bytes.fill(1, 3 * MIB + 5, 3 * MIB + 50);
      bytes.fill(2, 12 * MIB, 13 * MIB + 1);
      const file = await copyToTemporary(
        streamOf(bytes, (i) => 1 + ((i * 7919) % 400_000)),
        folder,
      );
      assert.deepEqual(fs.readdirSync(folder), []);
      const copy = Buffer.alloc(bytes.length + 10);
      assert.equal(file.readAt(copy, 0), bytes.length, "as long, also where it ends in zeros");
      assert.ok(copy.subarray(0, bytes.length).equals(bytes));
      assert.ok(fs.fstatSync(file.spec.fd).blocks * 512 < 5 * MIB);
      fs.closeSync(file.spec.fd);
    });
  });

  it("copies a stream of no bytes", async () => {
    await withFolder(async (folder) => {
      const file = await copyToTemporary(streamOf(new Uint8Array(0)), folder);
      assert.equal(file.size, 0);
      fs.closeSync(file.spec.fd);
    });
  });

  it("closes its file when the stream fails, and passes that on", async () => {
    await withFolder(async (folder) => {
      const before = fs.readdirSync("/proc/self/fd").length;
      const failure = new Error("cut");
      await assert.rejects(copyToTemporary(failingStream(Buffer.alloc(100), 50, failure), folder), failure);
      assert.equal(fs.readdirSync("/proc/self/fd").length, before);
    });
  });

  it("says that its folder is full", { skip: requireRoot() || requireTools("mount", "umount") }, async () => {
    await withTmpfs(MIB, async (folder) => {
      await assert.rejects(
        copyToTemporary(streamOf(Buffer.alloc(3 * MIB, 1)), folder),
        (error) => error instanceof TargetError && error.code === "TARGET_NO_SPACE" && error.message.includes(folder),
      );
    });
  });
});

describe("openUnnamed", () => {
  it("opens a file that only its owner could have opened", async () => {
    await withFolder((folder) => {
      const fd = openUnnamed(folder);
      const { mode, nlink } = fs.fstatSync(fd);
      assert.deepEqual([mode & 0o777, nlink], [0o600, 0]);
      fs.closeSync(fd);
    });
  });
});
