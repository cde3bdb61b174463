import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { isSameStorage } from "../../../importer/targets/same-file.ts";
import { addPartition, withFolder, withLoopDevice } from "../../support/loop-device.ts";
import { requireLoopDevices } from "../../support/tools.ts";

const MIB = 1024 * 1024;

function assertSameStorage(one: string, other: string, expected: boolean): void {
  assert.equal(isSameStorage(one, other), expected, `${one} and ${other}`);
  assert.equal(isSameStorage(other, one), expected, `${other} and ${one}`);
}

describe("isSameStorage", () => {
  it("knows a file by its path, its links and its other names", async () => {
    await withFolder((folder) => {
      const file = path.join(folder, "file");
      fs.writeFileSync(file, "x");
      fs.linkSync(file, path.join(folder, "hard"));
      fs.symlinkSync("file", path.join(folder, "soft"));
      fs.writeFileSync(path.join(folder, "copy"), "x");
      assertSameStorage(file, file, true);
      assertSameStorage(file, path.join(folder, "hard"), true);
      assertSameStorage(file, path.join(folder, "soft"), true);
      assertSameStorage(file, path.join(folder, "copy"), false);
      assertSameStorage(file, path.join(folder, "missing"), false);
      assertSameStorage(file, "null:", false);
    });
  });

  it("knows the file behind a loop device, and a second device over it", { skip: requireLoopDevices() }, async () => {
    await withLoopDevice({ size: MIB }, async (device, backing) => {
      assertSameStorage(device, device, true);
      assertSameStorage(device, backing, true);
      await withLoopDevice({ size: MIB }, (other) => assertSameStorage(device, other, false));
      const second = execFileSync("losetup", ["--find", "--show", backing], { encoding: "utf8" }).trim();
      const above = execFileSync("losetup", ["--find", "--show", second], { encoding: "utf8" }).trim();
      try {
        assertSameStorage(device, second, true);
        assertSameStorage(backing, above, true);
      } finally {
        execFileSync("losetup", ["-d", above]);
        execFileSync("losetup", ["-d", second]);
      }
    });
  });

  it(
    "takes a partition for a part of its disk, and two partitions for two things",
    { skip: requireLoopDevices() },
    async () => {
      await withLoopDevice({ size: 8 * MIB }, (disk, backing) => {
        const first = addPartition(disk, 1, MIB, 2 * MIB);
        const second = addPartition(disk, 2, 4 * MIB, 2 * MIB);
        assertSameStorage(first, first, true);
        assertSameStorage(first, disk, true);
        assertSameStorage(first, backing, true);
        assertSameStorage(first, second, false);
      });
    },
  );
});
