import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { deviceUse } from "../../../importer/targets/device-use.ts";
import { openTarget } from "../../../importer/targets/open-target.ts";
import { addPartition, withExt4, withFolder, withLoopDevice } from "../../support/loop-device.ts";
import { requireLoopDevices, requireTools } from "../../support/tools.ts";

const MIB = 1024 * 1024;
const skip = requireLoopDevices() || requireTools("mount", "umount", "mke2fs");

describe("deviceUse", { skip }, () => {
  it("names the mount point, also one with a blank in it", async () => {
    await withLoopDevice({ size: MIB }, (device) => assert.equal(deviceUse(fs.statSync(device).rdev), undefined));
    await withExt4(16 * MIB, async (mounted, device) => {
      assert.equal(deviceUse(fs.statSync(device).rdev), `mounted at ${mounted}`);
      execFileSync("umount", [mounted]);
      const blank = path.join(mounted, "a b\\c");
      fs.mkdirSync(blank);
      execFileSync("mount", [device, blank]);
      try {
        assert.equal(deviceUse(fs.statSync(device).rdev), `mounted at ${blank}`);
      } finally {
        execFileSync("umount", [blank]);
        execFileSync("mount", [device, mounted]);
      }
    });
  });

  it("knows a disk by the partition of it that is mounted", async () => {
    await withLoopDevice({ size: 32 * MIB }, async (disk) => {
      const partition = addPartition(disk, 1, MIB, 16 * MIB);
      execFileSync("mke2fs", ["-q", "-F", partition]);
      await withFolder((mounted) => {
        execFileSync("mount", [partition, mounted]);
        try {
          assert.throws(() => openTarget(disk), { code: "TARGET_BUSY", message: new RegExp(`mounted at ${mounted}$`) });
        } finally {
          execFileSync("umount", [mounted]);
        }
      });
    });
  });

  it("gives a partition's own size and sector, also from sysfs", async () => {
    await withLoopDevice({ size: 32 * MIB, sectorSize: 4096 }, (disk) => {
      const partition = addPartition(disk, 1, MIB, 16 * MIB);
      for (const kernelCalls of [true, false]) {
        const target = openTarget(partition, { kernelCalls });
        assert.deepEqual([target.capacity, target.sectorSize], [16 * MIB, 4096]);
        target.abort();
      }
    });
  });
});
