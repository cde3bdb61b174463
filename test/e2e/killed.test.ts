/**
 * `kill -9` in the middle, then the same command again: it succeeds and nothing is left behind.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { before, describe, it } from "node:test";
import { baseDisk } from "../support/base-disk.ts";
import { withFolder, withLoopDevice } from "../support/loop-device.ts";
import { imageOf } from "../support/qemu-images.ts";
import { startDecant, until } from "../support/start-decant.ts";
import { requireLoopDevices, requireTools } from "../support/tools.ts";

const MIB = 1024 * 1024;
const disk = baseDisk(16 * MIB);
let image: Buffer = Buffer.alloc(0);

describe("kill -9 in the middle", { skip: requireTools("qemu-img") }, () => {
  before(() => {
    image = imageOf(disk, "qcow2");
  });

  for (const options of [[], ["--force"], ["--direct"], ["--preallocate", "full"]]) {
    it(`then a file again ${options.join(" ")}`, async () => {
      await withFolder(async (folder) => {
        const temporary = path.join(folder, "tmp");
        const env = { TMPDIR: temporary };
        await withFolder(async (scratch) => {
          const args = ["convert", ...options, "--scratch", scratch, "-", "disk.raw"];
          const first = startDecant(args, { cwd: folder, stdin: "pipe", env });
          await first.feed(image.subarray(0, 2 * MIB));
          await until(() => readdirSync(folder).includes(".disk.raw.decant-partial"));
          first.child.kill("SIGKILL");
          assert.equal((await first.ended).signal, "SIGKILL");
          assert.deepEqual(
            readdirSync(folder),
            [".disk.raw.decant-partial"],
            "hidden, and nothing has the disk's name",
          );

          const second = startDecant(args, { cwd: folder, stdin: "pipe", env });
          second.child.stdin?.end(image);
          const { status, stderr } = await second.ended;
          assert.equal(status, 0, stderr);
          assert.deepEqual(readdirSync(folder), ["disk.raw"]);
          assert.deepEqual(readdirSync(scratch), []);
          assert.ok(readFileSync(path.join(folder, "disk.raw")).equals(disk));
        });
      });
    });
  }

  it("leaves the file that was to be replaced, until a later run replaces it", async () => {
    await withFolder(async (folder) => {
      writeFileSync(path.join(folder, "disk.raw"), "the old disk");
      const first = startDecant(["convert", "--force", "-", "disk.raw"], { cwd: folder, stdin: "pipe" });
      await first.feed(image.subarray(0, 2 * MIB));
      await until(() => readdirSync(folder).length > 1);
      first.child.kill("SIGKILL");
      await first.ended;
      assert.equal(readFileSync(path.join(folder, "disk.raw"), "utf8"), "the old disk");
      const second = startDecant(["convert", "--force", "-", "disk.raw"], { cwd: folder, stdin: "pipe" });
      second.child.stdin?.end(image);
      assert.equal((await second.ended).status, 0);
      assert.deepEqual(readdirSync(folder), ["disk.raw"]);
      assert.ok(readFileSync(path.join(folder, "disk.raw")).equals(disk));
    });
  });

  for (const options of [[], ["--force"], ["--direct"]]) {
    it(
      `leaves a device that does not boot; then the same again ${options.join(" ")}`,
      { skip: requireLoopDevices() },
      async () => {
        await withLoopDevice({ size: 18 * MIB }, async (device, backing) => {
          const first = startDecant(["convert", ...options, "-", device], { stdin: "pipe" });
          await first.feed(image.subarray(0, image.length - 1));
          const nothing = Buffer.alloc(MIB);
          await until(() => readFileSync(backing).subarray(0, MIB).equals(nothing));
          first.child.kill("SIGKILL");
          await first.ended;
          assert.ok(readFileSync(backing).subarray(0, MIB).equals(nothing), "the first MiB comes last");

          const second = startDecant(["convert", ...options, "-", device], { stdin: "pipe" });
          second.child.stdin?.end(image);
          const { status, stderr } = await second.ended;
          assert.equal(status, 0, stderr);
          assert.ok(readFileSync(backing).subarray(0, disk.length).equals(disk));
        });
      },
    );
  }
});
