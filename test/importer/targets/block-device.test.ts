import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { describe, it } from "node:test";
import { openTarget } from "../../../importer/targets/open-target.ts";
import { withExt4, withFolder, withLoopDevice } from "../../support/loop-device.ts";
import { requireLoopDevices, requireTools } from "../../support/tools.ts";
import { assertSame, describeTarget, DISK_SIZE, pour } from "../../suites/target.ts";

const MIB = 1024 * 1024;
const skip = requireLoopDevices();
const skipMounts = skip || requireTools("mount", "umount", "mke2fs");

for (const sectorSize of [512, 4096] as const) {
  describeTarget(`loop device, sectors of ${sectorSize}`, skip, async (options, body) => {
    await withLoopDevice({ size: DISK_SIZE, sectorSize }, async (device) => {
      await body({ target: openTarget(device, options), read: () => readDevice(device) });
    });
  });

  describe(`block device target, sectors of ${sectorSize}`, { skip }, () => {
    it("knows its sector and its capacity, also without kernel calls", async () => {
      await withLoopDevice({ size: DISK_SIZE, sectorSize }, (device) => {
        for (const kernelCalls of [true, false]) {
          const target = openTarget(device, { kernelCalls });
          assert.equal(target.kind, "block-device");
          assert.equal(target.sectorSize, sectorSize);
          assert.equal(target.capacity, DISK_SIZE);
          assert.equal(target.startsZeroed, false);
          target.abort();
        }
      });
    });

    it("refuses a disk that is too large, with both figures, before anything is written", async () => {
      await withLoopDevice({ size: DISK_SIZE, sectorSize }, (device) => {
        const before = readDevice(device);
        const target = openTarget(device);
        assert.throws(() => target.begin(DISK_SIZE + 1), { code: "TARGET_TOO_SMALL", message: /8388609.*8388608/ });
        target.abort();
        assertSame(readDevice(device), before);
      });
    });

    it("refuses writes past its end, and is left unbootable", async () => {
      await withLoopDevice({ size: DISK_SIZE, sectorSize }, (device) => {
        const target = openTarget(device);
        target.begin(undefined);
        target.writeAt(Buffer.alloc(512, 1), 0);
        assert.throws(() => target.writeAt(new Uint8Array(1024), DISK_SIZE - 512), { code: "TARGET_TOO_SMALL" });
        assert.throws(() => target.resize(DISK_SIZE + 1), { code: "TARGET_TOO_SMALL" });
        target.abort();
        assertEmpty(readDevice(device).subarray(0, MIB));
        assertEmpty(readDevice(device).subarray(DISK_SIZE - MIB));
      });
    });

    it("sends the device nothing but whole sectors", { skip: requireTools("strace") }, async () => {
      await withLoopDevice({ size: DISK_SIZE, sectorSize }, async (device) => {
        const calls = await withFolder((folder) => traceWrites(device, `${folder}/log`));
        assert.ok(calls.length > 10, `${calls.length} writes`);
        for (const [length, offset] of calls) {
          assert.equal(length % sectorSize, 0, `${length} bytes at ${offset}`);
          assert.equal(offset % sectorSize, 0, `${length} bytes at ${offset}`);
        }
        // The first MiB, zeroed at the start, comes last and in one piece.
        assert.deepEqual(calls.at(-1), [MIB, 0]);
        assert.equal(calls.slice(0, -1).filter(([, offset]) => offset < MIB).length, 1);
      });
    });

    it("writes its first MiB last", async () => {
      await withLoopDevice({ size: DISK_SIZE, sectorSize }, (device) => {
        const target = openTarget(device);
        const disk = pour(target, false);
        const before = readDevice(device);
        assertEmpty(before.subarray(0, MIB));
        assertSame(before.subarray(MIB), disk.subarray(MIB));
        target.commit();
        assertSame(readDevice(device), disk);
      });
    });

    it("takes a disk that is shorter than a MiB, and leaves the rest of the device", async () => {
      await withLoopDevice({ size: DISK_SIZE, sectorSize }, (device) => {
        const before = readDevice(device);
        const target = openTarget(device);
        target.begin(10_000);
        target.writeAt(Buffer.alloc(10_000, 5), 0);
        target.resize(10_000);
        target.commit();
        const after = readDevice(device);
        assertSame(after.subarray(0, 10_000), Buffer.alloc(10_000, 5));
        const end = Math.ceil(10_000 / sectorSize) * sectorSize;
        assertEmpty(after.subarray(10_000, end));
        assertSame(after.subarray(end), before.subarray(end));
      });
    });

    it("leaves what lies behind a shorter disk", async () => {
      await withLoopDevice({ size: DISK_SIZE + 3 * MIB, sectorSize }, (device) => {
        const before = readDevice(device);
        const disk = pour(openTarget(device));
        const after = readDevice(device);
        assertSame(after.subarray(0, DISK_SIZE), disk);
        assertSame(after.subarray(DISK_SIZE), before.subarray(DISK_SIZE));
      });
    });

    it("zeroes the copy of a partition table too that a shorter disk had", async () => {
      await withLoopDevice({ size: DISK_SIZE + 4 * MIB, sectorSize }, (device) => {
        const target = openTarget(device);
        pour(target, false);
        target.abort();
        const after = readDevice(device);
        assertEmpty(after.subarray(0, MIB));
        assertEmpty(after.subarray(DISK_SIZE - MIB, DISK_SIZE));
        assertEmpty(after.subarray(after.length - MIB));
      });
    });

    it("believes --assume-zero, but for its ends", async () => {
      await withLoopDevice({ size: DISK_SIZE, sectorSize }, (device) => {
        const before = readDevice(device);
        const target = openTarget(device, { assumeZero: true });
        assert.equal(target.startsZeroed, true);
        target.begin(DISK_SIZE);
        assert.equal(target.zeroAt(0, DISK_SIZE), true);
        target.resize(DISK_SIZE);
        target.commit();
        const after = readDevice(device);
        assertEmpty(after.subarray(0, MIB));
        assertSame(after.subarray(MIB, DISK_SIZE - MIB), before.subarray(MIB, DISK_SIZE - MIB));
      });
    });

    it("gives space back for zeros, and takes it with preallocation", async () => {
      for (const preallocate of ["off", "falloc", "full"] as const) {
        await withLoopDevice({ size: DISK_SIZE, sectorSize }, (device, backing) => {
          const target = openTarget(device, { preallocate, assumeZero: preallocate === "full" });
          assert.equal(target.startsZeroed, false);
          const disk = pour(target);
          assertSame(readDevice(device), disk);
          const allocated = fs.statSync(backing).blocks * 512;
          if (preallocate === "off") assert.ok(allocated < 6 * MIB, `${allocated} bytes`);
          else assert.ok(allocated >= DISK_SIZE, `${allocated} bytes`);
        });
      }
    });
  });
}

describe("block device target in use", { skip: skipMounts }, () => {
  it("refuses a mounted device, and says where", async () => {
    await withExt4(16 * MIB, (folder, device) => {
      assert.throws(() => openTarget(device), { code: "TARGET_BUSY", message: new RegExp(`mounted at ${folder}$`) });
    });
  });

  it("refuses a device that another process has for itself", async () => {
    await withLoopDevice({ size: DISK_SIZE }, (device) => {
      const first = openTarget(device);
      assert.throws(() => openTarget(device), { code: "TARGET_BUSY" });
      first.abort();
      openTarget(device).abort();
    });
  });

  it("follows a link to a device", async () => {
    await withLoopDevice({ size: DISK_SIZE }, async (device) => {
      await withFolder((folder) => {
        fs.symlinkSync(device, `${folder}/by-id`);
        const target = openTarget(`${folder}/by-id`);
        const disk = pour(target);
        assertSame(readDevice(device), disk);
        assert.ok(fs.lstatSync(`${folder}/by-id`).isSymbolicLink());
      });
    });
  });

  it("says whose a device is that this user may not write", async () => {
    await withLoopDevice({ size: DISK_SIZE }, (device) => {
      const module = new URL("../../../importer/targets/open-target.ts", import.meta.url).href;
      const script = `
        const { openTarget } = await import(${JSON.stringify(module)});
        process.setegid(65534); process.seteuid(65534);
        try { openTarget(${JSON.stringify(device)}); } catch (error) { console.log(error.code, error.remedy); }`;
      const args = ["--no-warnings", "--input-type=module", "-e", script];
      const text = execFileSync(process.execPath, args, { encoding: "utf8" });
      assert.match(text, /^TARGET_DENIED It belongs to user 0 and group \d+/);
    });
  });
});

/** Length and offset of every positioned write that pouring the suite's disk takes, in order. */
function traceWrites(device: string, log: string): (readonly [length: number, offset: number])[] {
  const moduleOf = (name: string): string => JSON.stringify(new URL(name, import.meta.url).href);
  const script = `
    const { openTarget } = await import(${moduleOf("../../../importer/targets/open-target.ts")});
    const { pour } = await import(${moduleOf("../../suites/target.ts")});
    pour(openTarget(${JSON.stringify(device)}, { kernelCalls: false }));`;
  const args = ["-f", "-qq", "-e", "trace=pwrite64", "-s", "0", "-o", log, process.execPath];
  execFileSync("strace", [...args, "--no-warnings", "--input-type=module", "-e", script]);
  const text = fs.readFileSync(log, "latin1");
  return [...text.matchAll(/pwrite64\(\d+, ""\.\.\., (\d+), (\d+)\) += \d+/g)].map((found) => [
    Number(found[1]),
    Number(found[2]),
  ]);
}

function readDevice(device: string): Buffer {
  return fs.readFileSync(device);
}

function assertEmpty(bytes: Uint8Array): void {
  assertSame(bytes, Buffer.alloc(bytes.length));
}
