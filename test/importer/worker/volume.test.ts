import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { readConfig } from "../../../importer/config.ts";
import { TargetError } from "../../../importer/errors.ts";
import { openFileTarget } from "../../../importer/targets/file.ts";
import { loadKernel } from "../../../importer/kernel.ts";
import { workerPaths } from "../../../importer/worker/paths.ts";
import type { WorkerPaths } from "../../../importer/worker/paths.ts";
import { freeSpace, probeVolume, removeLeftovers, volumeKind } from "../../../importer/worker/volume.ts";
import { withLoopDevice, withTmpfs } from "../../support/loop-device.ts";
import { withTemporaryFolder } from "../../support/temporary-folder.ts";
import { requireLoopDevices, requireRoot } from "../../support/tools.ts";

const MIB = 1024 * 1024;
const TEMPORARY = ".decant-0b06ed5c-9a37-4d3c-8c17-7d04a9f3a6a1";
const config = readConfig({ PREALLOCATION: "false", IMPORTER_IMAGE_SIZE: "1Gi", FILESYSTEM_OVERHEAD: "0.06" });

function pathsIn(folder: string): WorkerPaths {
  const at = (name: string): string => path.join(folder, name);
  return workerPaths({
    DECANT_DATA_DIR: at("data"),
    DECANT_BLOCK_DEVICE: at("device"),
    DECANT_SCRATCH_DIR: at("scratch"),
  });
}

function isTargetError(code: string, text: RegExp): (error: unknown) => boolean {
  return (error) => error instanceof TargetError && error.code === code && text.test(error.message);
}

describe("volumeKind", () => {
  it("is a filesystem only where there is no device of that name", async () => {
    await withTemporaryFolder(async (folder) => {
      const paths = pathsIn(folder);
      assert.equal(volumeKind(paths), "filesystem");
      fs.writeFileSync(paths.device, "");
      assert.equal(volumeKind(paths), "block");
      assert.equal(volumeKind({ ...paths, device: path.join(paths.device, "below-a-file") }), "block");
    });
  });
});

describe("removeLeftovers", () => {
  it("removes what this program makes, by name and kind", async () => {
    await withTemporaryFolder(async (folder) => {
      const paths = pathsIn(folder);
      const leftovers = [`data/${TEMPORARY}`, `data/.disk.img.decant-partial`, "data/disk.img", `scratch/${TEMPORARY}`];
      const others = [
        "data/other",
        "data/.decant-x",
        "data/disk.img.old",
        "scratch/tmpimage",
        "data/.other.decant-partial",
      ];
      fs.mkdirSync(paths.data);
      fs.mkdirSync(paths.scratch);
      for (const name of [...leftovers, ...others]) fs.writeFileSync(path.join(folder, name), "x");
      const removed = removeLeftovers(paths, false).map((name) => path.relative(folder, name));
      assert.deepEqual([...removed].sort(), [...leftovers].sort());
      for (const name of others) assert.ok(fs.existsSync(path.join(folder, name)), name);
      assert.deepEqual(removeLeftovers(paths, false), []);
    });
  });

  it("keeps the disk where it is told to, and whatever is no file", async () => {
    await withTemporaryFolder(async (folder) => {
      const paths = pathsIn(folder);
      const disk = path.join(paths.data, "disk.img");
      fs.mkdirSync(paths.data);
      fs.writeFileSync(disk, "x");
      assert.deepEqual(removeLeftovers(paths, true), []);
      fs.unlinkSync(disk);
      fs.mkdirSync(disk);
      assert.deepEqual(removeLeftovers(paths, false), []);
      fs.rmdirSync(disk);
      fs.symlinkSync("nowhere", disk);
      assert.deepEqual(removeLeftovers(paths, false), [disk]);
    });
  });

  it("leaves a file that somebody is writing, and says so", async () => {
    await withTemporaryFolder(async (folder) => {
      const paths = pathsIn(folder);
      const disk = path.join(paths.data, "disk.img");
      fs.mkdirSync(paths.data);
      const options = { preallocate: "off", force: true, direct: false, mode: 0o660, owner: undefined } as const;
      const target = openFileTarget(disk, disk, { ...options, kernel: loadKernel() });
      assert.throws(() => removeLeftovers(paths, false), isTargetError("TARGET_BUSY", /another process is writing/));
      target.abort();
    });
  });
});

describe("probeVolume", () => {
  it("says what the filesystem has, with the claim's own figures", { skip: requireRoot() }, async () => {
    await withTmpfs(8 * MIB, (data) => {
      const volume = probeVolume("filesystem", { ...pathsIn("/nowhere"), data }, config);
      assert.deepEqual(volume, { kind: "filesystem", free: 8 * MIB, requested: 2 ** 30, overhead: 0.06 });
      fs.writeFileSync(path.join(data, "file"), Buffer.alloc(MIB));
      assert.equal(freeSpace(data), 7 * MIB);
    });
  });

  it("says what the device has", { skip: requireLoopDevices() }, async () => {
    await withLoopDevice({ size: 2 * MIB, fill: "zeros" }, (device) => {
      const volume = probeVolume("block", { ...pathsIn("/nowhere"), device }, config);
      assert.deepEqual(volume, { kind: "block", capacity: 2 * MIB });
    });
  });

  it("fails where nobody can tell", async () => {
    await withTemporaryFolder(async (folder) => {
      const paths = pathsIn(folder);
      assert.throws(() => probeVolume("filesystem", paths, config), isTargetError("TARGET_IO", /the space of .*data/));
      assert.throws(() => probeVolume("block", paths, config), isTargetError("TARGET_IO", /the size of .*device/));
      fs.writeFileSync(paths.device, "");
      assert.throws(() => probeVolume("block", paths, config), isTargetError("TARGET_DENIED", /is no block device/));
    });
  });
});
