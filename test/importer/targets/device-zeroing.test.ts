/**
 * Each method on a real loop device; where a test needs a device that refuses one, the call is made to answer as such a
 * device does, and the others stay real.
 */
import assert from "node:assert/strict";
import fs from "node:fs";
import { describe, it } from "node:test";
import { loadKernel } from "../../../importer/kernel.ts";
import type { Kernel } from "../../../importer/kernel.ts";
import { DeviceZeroing } from "../../../importer/targets/device-zeroing.ts";
import { openTarget } from "../../../importer/targets/open-target.ts";
import { readFully, writeFully } from "../../../importer/targets/positioned-writer.ts";
import { withExt2, withLoopDevice } from "../../support/loop-device.ts";
import { requireLoopDevices, requireTools } from "../../support/tools.ts";
import { assertSame, DISK_SIZE, pour } from "../../suites/target.ts";

const KIB = 1024;
const MIB = 1024 * KIB;
const kernel = loadKernel();
const skip = requireLoopDevices() || (kernel === undefined ? "needs koffi" : false);

/** A range that starts and ends inside a page, and inside a sector of 512. */
const START = 2 * MIB + 700;
const LENGTH = 3 * MIB + 5000;

type Calls = string[];

/** The real kernel, which logs its zeroing calls and answers some of them itself. */
function kernelWith(
  calls: Calls,
  answers: Partial<Pick<Kernel, "fallocate" | "blockDiscard" | "blockZeroOut">>,
): Kernel {
  const real = { ...(kernel as Kernel), ...answers };
  return {
    ...real,
    fallocate: (fd, mode, offset, length) => log(mode, offset, length, real.fallocate(fd, mode, offset, length)),
    blockDiscard: (fd, offset, length) => log("discard", offset, length, real.blockDiscard(fd, offset, length)),
    blockZeroOut: (fd, offset, length) => log("zero-out", offset, length, real.blockZeroOut(fd, offset, length)),
  };
  function log(call: string, offset: number, length: number, answer: string | undefined): string | undefined {
    calls.push(`${call} ${offset} ${length}`);
    return answer;
  }
}

interface Zeroed {
  readonly calls: Calls;
  readonly answer: boolean;
  readonly methods: readonly string[];
  readonly after: Buffer;
  readonly expected: Buffer;
}

interface ZeroOptions {
  readonly sectorSize?: 512 | 4096;
  readonly preallocate?: boolean;
  readonly start?: number;
  readonly length?: number;
  readonly times?: number;
}

async function zeroRange(kernelFor: (calls: Calls) => Kernel | undefined, options: ZeroOptions = {}): Promise<Zeroed> {
  const { sectorSize = 512, preallocate = false, start = START, length = LENGTH, times = 1 } = options;
  return await withLoopDevice({ size: DISK_SIZE, sectorSize }, (device) => {
    const expected = fs.readFileSync(device);
    const fd = fs.openSync(device, fs.constants.O_RDWR | fs.constants.O_EXCL);
    try {
      const calls: Calls = [];
      const zeroing = new DeviceZeroing({
        fd,
        rdev: fs.fstatSync(fd).rdev,
        sectorSize,
        capacity: DISK_SIZE,
        preallocate,
        kernel: kernelFor(calls),
        writeZeros: (offset, count) => writeFully(fd, new Uint8Array(count), offset),
        readAt: (into, offset) => readFully(fd, into, offset),
      });
      // Dirty pages at both edges, which dropping the cache must not lose.
      const before = Buffer.alloc(8 * KIB, 0x11);
      writeFully(fd, before, start - before.length);
      expected.set(before, start - before.length);
      if (start + length < DISK_SIZE) {
        writeFully(fd, Buffer.alloc(4 * KIB, 0x22), start + length);
        expected.fill(0x22, start + length, start + length + 4 * KIB);
      }
      let answer = false;
      for (let i = 0; i < times; i++) answer = zeroing.zero(start, length);
      if (answer) expected.fill(0, start, start + length);
      fs.fsyncSync(fd);
      return { calls, answer, methods: zeroing.methods, after: fs.readFileSync(device), expected };
    } finally {
      fs.closeSync(fd);
    }
  });
}

describe("device zeroing", { skip }, () => {
  for (const sectorSize of [512, 4096] as const) {
    it(`punches whole pages and writes the edges, sectors of ${sectorSize}`, async () => {
      const { calls, answer, after, expected } = await zeroRange((log) => kernelWith(log, {}), { sectorSize });
      assert.equal(answer, true);
      assert.deepEqual(calls, [`punch-hole ${2 * MIB + 4 * KIB} ${3 * MIB}`]);
      assertSame(after, expected);
    });
  }

  it("punches up to the end of the device", async () => {
    const start = 3 * MIB;
    const { calls, after, expected } = await zeroRange((log) => kernelWith(log, {}), {
      start,
      length: DISK_SIZE - start,
    });
    assert.deepEqual(calls, [`punch-hole ${start} ${DISK_SIZE - start}`]);
    assertSame(after, expected);
  });

  it("writes a range that has no whole page", async () => {
    const { calls, answer, after, expected } = await zeroRange((log) => kernelWith(log, {}), { length: 4000 });
    assert.equal(answer, true);
    assert.deepEqual(calls, []);
    assertSame(after, expected);
  });

  it("discards where holes cannot be punched, reads all of it back, and does not try holes again", async () => {
    const refuse = { fallocate: () => "EOPNOTSUPP" };
    const result = await zeroRange((log) => kernelWith(log, refuse), { times: 2 });
    assert.deepEqual(
      result.calls.map((call) => call.split(" ")[0]),
      ["punch-hole", "discard", "discard"],
    );
    assertSame(result.after, result.expected);
  });

  it("does not believe a discard after which one byte is left", async () => {
    const leaky = {
      fallocate: () => "EOPNOTSUPP",
      blockDiscard(fd: number, offset: number, length: number) {
        kernel?.blockDiscard(fd, offset, length);
        writeFully(fd, Buffer.of(1), offset + length - 1);
        return undefined;
      },
    };
    const result = await zeroRange((log) => kernelWith(log, leaky), { times: 2 });
    assert.deepEqual(
      result.calls.map((call) => call.split(" ")[0]),
      ["punch-hole", "discard", "zero-out", "zero-out"],
    );
    assert.deepEqual(result.methods, ["zero-out"]);
    assertSame(result.after, result.expected);
  });

  it("declines, and remembers it, where nothing works", async () => {
    const none = { fallocate: () => "EOPNOTSUPP", blockDiscard: () => "EOPNOTSUPP", blockZeroOut: () => "ENOTTY" };
    const result = await zeroRange((log) => kernelWith(log, none), { times: 3 });
    assert.equal(result.answer, false);
    assert.equal(result.calls.length, 3);
    assert.deepEqual(result.methods, []);
  });

  it("declines without kernel calls", async () => {
    const { answer, after, expected } = await zeroRange(() => undefined);
    assert.equal(answer, false);
    assertSame(after, expected);
  });

  it("unmaps nothing where zeros are to take space", async () => {
    const { calls, after, expected } = await zeroRange((log) => kernelWith(log, {}), { preallocate: true });
    assert.deepEqual(
      calls.map((call) => call.split(" ")[0]),
      ["zero-range"],
    );
    assertSame(after, expected);
  });

  it("reports what is not a refusal", async () => {
    const broken = { fallocate: () => "EIO" };
    await assert.rejects(() => zeroRange((log) => kernelWith(log, broken)), { code: "EIO" });
  });

  it(
    "works on a device that announces what it cannot do",
    { skip: requireTools("mount", "umount", "mke2fs") },
    async () => {
      // Behind this loop device lies a file of ext2, which knows no holes.
      await withExt2(32 * MIB, async (folder) => {
        await withLoopDevice({ size: DISK_SIZE, folder }, (device) => {
          const disk = pour(openTarget(device));
          assertSame(fs.readFileSync(device), disk);
        });
      });
    },
  );
});
