import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { deviceUse } from "../../../importer/targets/device-use.ts";
import { openTarget } from "../../../importer/targets/open-target.ts";
import { withExt4, withFolder, withLoopDevice } from "../../support/loop-device.ts";
import { requireLoopDevices, requireTools } from "../../support/tools.ts";

const MIB = 1024 * 1024;
const skip = requireLoopDevices() || requireTools("mount", "umount", "mke2fs", "sfdisk");

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
    await withFolder((folder) => {
      const image = path.join(folder, "disk.img");
      fs.writeFileSync(image, "");
      fs.truncateSync(image, 32 * MIB);
      execFileSync("sfdisk", ["-q", image], { input: "label: dos\n,16MiB\n" });
      const mounted = path.join(folder, "mounted");
      fs.mkdirSync(mounted);
      const disk = execFileSync("losetup", ["--find", "--show", "--partscan", image], { encoding: "utf8" }).trim();
      try {
        execFileSync("mke2fs", ["-q", "-F", `${disk}p1`]);
        execFileSync("mount", [`${disk}p1`, mounted]);
        try {
          assert.throws(() => openTarget(disk), { code: "TARGET_BUSY", message: new RegExp(`mounted at ${mounted}$`) });
        } finally {
          execFileSync("umount", [mounted]);
        }
      } finally {
        execFileSync("losetup", ["-d", disk]);
      }
    });
  });
});
