import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { Worker } from "node:worker_threads";
import {
  deviceGeometry,
  deviceNumber,
  deviceSize,
  isUnsupported,
  kernelError,
  loadKernel,
} from "../../importer/kernel.ts";
import type { Kernel } from "../../importer/kernel.ts";
import { errnoName } from "../../importer/errors.ts";
import { withFolder, withLoopDevice } from "../support/loop-device.ts";
import { requireLoopDevices } from "../support/tools.ts";

const MIB = 1024 * 1024;
const kernel = loadKernel();
const skip = kernel === undefined ? "needs koffi" : false;

async function withFile(body: (kernel: Kernel, fd: number, name: string) => void): Promise<void> {
  await withFolder((folder) => {
    const name = path.join(folder, "file");
    const fd = fs.openSync(name, "w+");
    try {
      body(kernel as Kernel, fd, name);
    } finally {
      fs.closeSync(fd);
    }
  });
}

describe("kernel calls", { skip }, () => {
  it("reserve, punch, zero and find what is there", async () => {
    await withFile((calls, fd) => {
      assert.equal(calls.fallocate(fd, "allocate", 0, 4 * MIB), undefined);
      assert.equal(fs.fstatSync(fd).size, 4 * MIB);
      assert.ok(fs.fstatSync(fd).blocks * 512 >= 4 * MIB);
      assert.equal(calls.fallocate(fd, "keep-size", 4 * MIB, MIB), undefined);
      assert.equal(fs.fstatSync(fd).size, 4 * MIB);
      fs.writeSync(fd, Buffer.alloc(4 * MIB, 1), 0, 4 * MIB, 0);
      assert.equal(calls.fallocate(fd, "punch-hole", MIB, MIB), undefined);
      assert.equal(calls.seek(fd, "hole", 0), MIB);
      assert.equal(calls.seek(fd, "data", MIB), 2 * MIB);
      assert.equal(calls.seek(fd, "data", 2 ** 40), "ENXIO");
      assert.equal(calls.fallocate(fd, "zero-range", 3 * MIB, MIB), undefined);
      const bytes = Buffer.alloc(4 * MIB);
      fs.readSync(fd, bytes, 0, bytes.length, 0);
      assert.equal(bytes.indexOf(0), MIB);
      assert.equal(bytes.lastIndexOf(1), 3 * MIB - 1);
    });
  });

  it("sync a filesystem, and make a pipe", async () => {
    await withFile((calls, fd, name) => {
      assert.equal(calls.syncFilesystem(fd), undefined);
      assert.equal(calls.syncFilesystem(9999), "EBADF");
      const pipe = Buffer.from(`${name}\u00e4`);
      assert.equal(calls.makePipe(pipe, 0o600), undefined);
      assert.ok(fs.lstatSync(pipe).isFIFO());
      assert.equal(calls.makePipe(pipe, 0o600), "EEXIST");
    });
  });

  it("take offsets beyond 32 bits", async () => {
    await withFile((calls, fd) => {
      const far = 2 ** 40 + 4096;
      fs.writeSync(fd, Buffer.alloc(8192, 1), 0, 8192, far);
      assert.equal(calls.seek(fd, "data", 0), far);
      assert.equal(calls.fallocate(fd, "punch-hole", far, 4096), undefined);
      assert.equal(calls.seek(fd, "data", 0), far + 4096);
    });
  });

  it("answer with the error's name", async () => {
    await withFile((calls, fd) => {
      assert.equal(calls.fallocate(fd, "allocate", 0, 0), "EINVAL");
      assert.equal(calls.fallocate(-1, "allocate", 0, 1), "EBADF");
      assert.equal(calls.blockZeroOut(fd, 0, 4096), "ENOTTY");
      assert.equal(calls.blockDiscard(fd, 0, 4096), "ENOTTY");
      assert.equal(calls.deviceGeometry(fd), "ENOTTY");
      assert.equal(calls.waitAndStartWriteback(-1), "EBADF");
    });
    for (const errno of ["EOPNOTSUPP", "ENOSYS", "EINVAL", "ENOTTY"]) assert.equal(isUnsupported(errno), true, errno);
    for (const errno of ["ENOSPC", "EIO", "EBADF"]) assert.equal(isUnsupported(errno), false, errno);
    assert.equal(errnoName(kernelError("ENOSPC", "fallocate")), "ENOSPC");
  });

  it("write dirty pages out and drop clean ones", async () => {
    await withFile((calls, fd) => {
      fs.writeSync(fd, Buffer.alloc(MIB, 1));
      assert.equal(calls.waitAndStartWriteback(fd), undefined);
      assert.equal(calls.waitAndStartWriteback(fd), undefined);
      assert.equal(calls.dropCleanPages(fd), undefined);
      assert.notEqual(calls.dropCleanPages(-1), undefined);
    });
  });

  it("lock a file against every other open one", async () => {
    await withFile((calls, fd, name) => {
      assert.equal(calls.lock(fd), undefined);
      const other = fs.openSync(name, "r+");
      assert.equal(calls.lock(other), "EAGAIN");
      fs.closeSync(other);
    });
  });

  it("work in a worker thread", async () => {
    const module = new URL("../../importer/kernel.ts", import.meta.url).href;
    const code = `import(${JSON.stringify(module)}).then(({ loadKernel }) => process.exit(loadKernel().lock(-1) === "EBADF" ? 7 : 1))`;
    const [exit] = (await once(new Worker(code, { eval: true }), "exit")) as [number];
    assert.equal(exit, 7);
  });

  it("tell a device's size and sectors as sysfs does", { skip: requireLoopDevices() }, async () => {
    for (const sectorSize of [512, 4096] as const) {
      await withLoopDevice({ size: 3 * MIB, sectorSize, fill: "zeros" }, (device) => {
        const fd = fs.openSync(device, "r");
        const { rdev } = fs.fstatSync(fd);
        const expected = { size: 3 * MIB, logicalSectorSize: sectorSize, physicalSectorSize: sectorSize };
        assert.deepEqual(deviceGeometry(fd, rdev, kernel), expected);
        assert.deepEqual(deviceGeometry(fd, rdev, undefined), expected);
        assert.equal(deviceSize(fd, rdev), 3 * MIB);
        fs.closeSync(fd);
      });
    }
  });
});

describe("deviceNumber", () => {
  it("splits a device number as stat(1) does", () => {
    const [major, minor] = execFileSync("stat", ["-c", "%Hr:%Lr", "/dev/null"], { encoding: "utf8" }).trim().split(":");
    assert.equal(deviceNumber(fs.statSync("/dev/null").rdev), `${major}:${minor}`);
    // linux/kdev_t.h: 20 bits of minor, 12 of major
    assert.equal(deviceNumber(0x103_00), "259:0");
    assert.equal(deviceNumber(0xfff0_0000 + (259 << 8) + 0x21), `259:${0xfff * 256 + 0x21}`);
  });
});
