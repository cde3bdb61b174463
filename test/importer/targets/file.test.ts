import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { openTarget } from "../../../importer/targets/open-target.ts";
import type { TargetOptions } from "../../../importer/targets/open-target.ts";
import { withExt2, withExt4, withFolder, withRamfs, withTmpfs } from "../../support/loop-device.ts";
import { requireLoopDevices, requireRoot, requireTools } from "../../support/tools.ts";
import { assertSame, describeTarget, DISK_SIZE, pour } from "../../suites/target.ts";

const MIB = 1024 * 1024;
const skipMounts = requireRoot() || requireTools("mount", "umount");
const skipLoop = requireLoopDevices() || requireTools("mount", "umount", "mke2fs");

describeTarget("file", false, async (options, body) => {
  await withFolder(async (folder) => {
    const name = path.join(folder, "disk.raw");
    const read = (): Buffer | undefined => (fs.existsSync(name) ? fs.readFileSync(name) : undefined);
    await body({ target: openTarget(name, options), read });
    assert.deepEqual(
      fs.readdirSync(folder).filter((entry) => entry !== "disk.raw"),
      [],
    );
  });
});

describe("file target", () => {
  it("allocates only what is written", async () => {
    await withFolder((folder) => {
      const name = path.join(folder, "disk.raw");
      const target = openTarget(name);
      target.begin(4 * 1024 * MIB);
      target.writeAt(Buffer.alloc(MIB, 1), 3 * 1024 * MIB);
      assert.equal(target.startsZeroed, true);
      assert.equal(target.zeroAt(0, 1024 * MIB), true);
      target.resize(4 * 1024 * MIB);
      target.commit();
      const { size, blocks } = fs.statSync(name);
      assert.equal(size, 4 * 1024 * MIB);
      assert.ok(blocks * 512 >= MIB && blocks * 512 < 2 * MIB, `${blocks} blocks`);
    });
  });

  it("is cut and grown by resize", async () => {
    await withFolder((folder) => {
      for (const direct of [false, true]) {
        const name = path.join(folder, `disk-${direct}.raw`);
        const target = openTarget(name, { direct });
        target.begin(undefined);
        target.writeAt(Buffer.alloc(10_000, 1), 0);
        target.resize(12_345);
        target.resize(9_001);
        target.commit();
        assertSame(fs.readFileSync(name), Buffer.alloc(9_001, 1));
      }
    });
  });

  it("gets the mode of a new file only when it is complete", async () => {
    await withFolder((folder) => {
      const name = path.join(folder, "disk.raw");
      const target = openTarget(name, { umask: 0o027 });
      const partial = path.join(folder, ".disk.raw.decant-partial");
      assert.equal(fs.statSync(partial).mode & 0o777, 0o600);
      assert.equal(fs.existsSync(name), false);
      pour(target);
      assert.equal(fs.statSync(name).mode & 0o777, 0o640);
      assert.equal(fs.existsSync(partial), false);
    });
  });

  it("keeps the file that it replaces until commit, and its mode", async () => {
    await withFolder((folder) => {
      const name = path.join(folder, "disk.raw");
      fs.writeFileSync(name, "old", { mode: 0o604 });
      const failed = openTarget(name, { force: true });
      pour(failed, false);
      failed.abort();
      assert.equal(fs.readFileSync(name, "latin1"), "old");
      const target = openTarget(name, { force: true });
      const disk = pour(target, false);
      assert.equal(fs.readFileSync(name, "latin1"), "old");
      target.commit();
      assertSame(fs.readFileSync(name), disk);
      assert.equal(fs.statSync(name).mode & 0o777, 0o604);
    });
  });

  it("replaces no file that came meanwhile, without force", async () => {
    await withFolder((folder) => {
      const name = path.join(folder, "disk.raw");
      const target = openTarget(name);
      pour(target, false);
      fs.writeFileSync(name, "somebody else's");
      assert.throws(() => target.commit(), { code: "USAGE" });
      target.abort();
      assert.deepEqual(fs.readdirSync(folder), ["disk.raw"]);
      assert.equal(fs.readFileSync(name, "latin1"), "somebody else's");
    });
  });

  it("declines zeroing with full preallocation, so zeros are written", async () => {
    await withFolder((folder) => {
      const name = path.join(folder, "disk.raw");
      const target = openTarget(name, { preallocate: "full" });
      const disk = pour(target);
      assertSame(fs.readFileSync(name), disk);
      assert.ok(fs.statSync(name).blocks * 512 >= DISK_SIZE);
    });
  });

  it("reserves all space with falloc, also where the size is known only at the end", { skip: skipLoop }, async () => {
    await withExt4(64 * MIB, (folder) => {
      for (const sizeKnown of [true, false]) {
        const name = path.join(folder, `disk-${sizeKnown}.raw`);
        const target = openTarget(name, { preallocate: "falloc" });
        target.begin(sizeKnown ? DISK_SIZE : undefined);
        assert.equal(target.startsZeroed, true);
        target.writeAt(Buffer.alloc(5000, 9), MIB);
        target.resize(DISK_SIZE);
        target.commit();
        assert.ok(fs.statSync(name).blocks * 512 >= DISK_SIZE);
        assert.deepEqual(target.notes, []);
        const expected = Buffer.alloc(DISK_SIZE);
        expected.fill(9, MIB, MIB + 5000);
        assertSame(fs.readFileSync(name), expected);
      }
    });
  });

  it("writes zeros where space cannot be reserved, and says so", { skip: skipLoop }, async () => {
    await withExt2(32 * MIB, (folder) => {
      const name = path.join(folder, "disk.raw");
      const target = openTarget(name, { preallocate: "falloc" });
      const disk = pour(target);
      assert.equal(target.startsZeroed, false);
      assert.equal(target.notes.length, 1);
      assertSame(fs.readFileSync(name), disk);
      assert.ok(fs.statSync(name).blocks * 512 >= DISK_SIZE);
    });
  });

  const tight: readonly { readonly name: string; readonly options: TargetOptions; readonly act: "begin" | "write" }[] =
    [
      { name: "a write", options: {}, act: "write" },
      { name: "a write past the cache", options: { direct: true }, act: "write" },
      { name: "a reservation", options: { preallocate: "falloc" }, act: "begin" },
      { name: "a full preallocation", options: { preallocate: "full" }, act: "begin" },
    ];
  for (const { name, options, act } of tight) {
    it(`reports that no space is left for ${name}, and leaves nothing`, { skip: skipMounts }, async () => {
      await withTmpfs(4 * MIB, (folder) => {
        const target = openTarget(path.join(folder, "disk.raw"), options);
        assert.throws(
          () => {
            target.begin(DISK_SIZE);
            assert.equal(act, "write", "begin should have refused");
            target.writeAt(Buffer.alloc(DISK_SIZE, 1), 0);
            target.flush();
          },
          { code: "TARGET_NO_SPACE" },
        );
        target.abort();
        assert.deepEqual(fs.readdirSync(folder), []);
      });
    });
  }

  it("names the limit of a filesystem whose files are too small for the disk", { skip: skipLoop }, async () => {
    await withExt4(16 * MIB, (folder) => {
      const target = openTarget(path.join(folder, "disk.raw"));
      assert.throws(() => target.begin(32 * 1024 * 1024 * MIB), {
        code: "TARGET_TOO_SMALL",
        message: /35184372088832.*largest file/,
      });
      target.abort();
      assert.deepEqual(
        fs.readdirSync(folder).filter((name) => name !== "lost+found"),
        [],
      );
    });
  });

  it("is written through the cache, and says so, where O_DIRECT is refused", { skip: skipMounts }, async () => {
    await withRamfs((folder) => {
      const name = path.join(folder, "disk.raw");
      const target = openTarget(name, { direct: true });
      assert.equal(target.writer?.direct, false);
      assert.match(target.notes.join(), /O_DIRECT/);
      const disk = pour(target);
      assertSame(fs.readFileSync(name), disk);
      assert.deepEqual(fs.readdirSync(folder), ["disk.raw"]);
    });
  });

  it("shortens a hidden name that would be too long", async () => {
    await withFolder((folder) => {
      const name = path.join(folder, `${"n".repeat(250)}.raw`);
      pour(openTarget(name));
      assert.deepEqual(fs.readdirSync(folder), [path.basename(name)]);
    });
  });
});
