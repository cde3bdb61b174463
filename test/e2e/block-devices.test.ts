/**
 * Every format poured onto loop devices with sectors of 512 and 4096 bytes that held random bytes before: equal byte for
 * byte up to the virtual size, zeros to the end of its last sector, untouched beyond. Every write and zeroing is whole
 * sectors: strace tells.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import path from "node:path";
import { before, describe, it } from "node:test";
import { alignUp } from "../../formats/bytes.ts";
import { baseDisk, randomBytes } from "../support/base-disk.ts";
import { withFolder, withLoopDevice, withTmpfs } from "../support/loop-device.ts";
import { startDecant, traceDecant } from "../support/start-decant.ts";
import { requireLoopDevices, requireTools } from "../support/tools.ts";

const MIB = 1024 * 1024;
const DEVICE_SIZE = 8 * MIB;
/** Ends within a sector of 4096 bytes. */
const DISK_SIZE = 4 * MIB + 1536;

const formats: readonly (readonly [name: string, format: string, ...options: string[]])[] = [
  ["raw", "raw"],
  ["qcow2 with clusters of 512 bytes", "qcow2", "-o", "cluster_size=512"],
  ["qcow2", "qcow2"],
  ["zlib qcow2", "qcow2", "-c"],
  ["zlib qcow2 with clusters of 512 bytes", "qcow2", "-c", "-o", "cluster_size=512"],
  ["vmdk", "vmdk"],
  ["stream-optimized vmdk", "vmdk", "-o", "subformat=streamOptimized"],
  ["vhd", "vpc", "-o", "force_size=on"],
  ["fixed vhd", "vpc", "-o", "subformat=fixed,force_size=on"],
  ["vhdx", "vhdx"],
  ["vdi", "vdi"],
];

interface Way {
  readonly sectorSize: 512 | 4096;
  readonly threads: number;
  readonly direct: boolean;
  readonly source: "path" | "standard input";
}

/** Each format goes all of these: every value of each column, and every pair of two of them. */
const ways: readonly Way[] = [
  { sectorSize: 512, threads: 1, direct: false, source: "path" },
  { sectorSize: 512, threads: 3, direct: true, source: "standard input" },
  { sectorSize: 4096, threads: 1, direct: true, source: "standard input" },
  { sectorSize: 4096, threads: 3, direct: false, source: "standard input" },
  { sectorSize: 4096, threads: 3, direct: true, source: "path" },
];

describe("block devices", { skip: requireLoopDevices() || requireTools("qemu-img", "strace") }, () => {
  const garbage = randomLike(DEVICE_SIZE);
  const images = new Map<string, Buffer>();

  before(async () => {
    await withFolder((folder) => {
      const base = path.join(folder, "base.raw");
      writeFileSync(base, sectorwiseDisk());
      for (const [name, format, ...options] of formats) {
        execFileSync("qemu-img", ["convert", "-f", "raw", "-O", format, ...options, base, path.join(folder, "image")]);
        images.set(name, readFileSync(path.join(folder, "image")));
      }
    });
  });

  for (const way of ways) {
    const { sectorSize, threads, direct, source } = way;
    const title = `sectors of ${sectorSize}, ${threads} thread(s), ${direct ? "direct" : "buffered"}, ${source}`;
    it(title, async () => {
      await withDevice(sectorSize, async (device, backing) => {
        for (const [name] of formats) {
          fill(device, garbage);
          await pour(images.get(name) ?? assert.fail(name), device, way, path.dirname(backing));
          assertPoured(readFileSync(backing), garbage, sectorSize, name);
        }
      });
    });
  }

  for (const direct of [false, true]) {
    it(`writes whole sectors of 4096 bytes only, ${direct ? "direct" : "buffered"}`, async () => {
      await withDevice(4096, async (device, backing) => {
        for (const name of [
          "qcow2 with clusters of 512 bytes",
          "zlib qcow2 with clusters of 512 bytes",
          "vmdk",
          "raw",
        ]) {
          fill(device, garbage);
          const image = path.join(path.dirname(backing), "image");
          writeFileSync(image, images.get(name) ?? assert.fail(name));
          const args = ["convert", "--threads", "3", ...(direct ? ["--direct"] : []), image, device];
          const result = await traceDecant("write,pwrite64,pwritev,pwritev2,fallocate,ioctl", args);
          assert.equal(result.status, 0, result.stderr);
          const calls = changesOf(result.trace, device);
          assert.ok(calls.length > 3, `${name}: the trace shows what is written`);
          const odd = calls.filter(({ offset, length }) => offset % 4096 !== 0 || length % 4096 !== 0 || length === 0);
          assert.deepEqual(odd, [], name);
          assertPoured(readFileSync(backing), garbage, 4096, name);
        }
      });
    });
  }
});

/** In memory, for a test that flushes a hundred times. */
async function withDevice(
  sectorSize: 512 | 4096,
  body: (device: string, backing: string) => Promise<void>,
): Promise<void> {
  await withTmpfs(4 * DEVICE_SIZE, (folder) => withLoopDevice({ size: DEVICE_SIZE, sectorSize, folder }, body));
}

/** Runs of single sectors with data between zeros, so that images have data where a large sector has only a part of it. */
function sectorwiseDisk(): Buffer {
  const disk = Buffer.concat([baseDisk(4 * MIB), Buffer.alloc(DISK_SIZE - 4 * MIB, 0x5a)]);
  for (let sector = 4096; sector < 4096 + 512; sector += 3)
    disk.fill(sector & 0xff || 1, sector * 512, sector * 512 + 512);
  return disk;
}

function randomLike(length: number): Buffer {
  const next = randomBytes(99);
  return Buffer.from(Uint8Array.from({ length }, () => next()));
}

function fill(device: string, bytes: Uint8Array): void {
  const fd = openSync(device, "r+");
  writeSync(fd, bytes, 0, bytes.length, 0);
  closeSync(fd);
}

async function pour(image: Buffer, device: string, way: Way, folder: string): Promise<void> {
  const file = path.join(folder, "image");
  writeFileSync(file, image);
  const args = ["convert", "--threads", String(way.threads), ...(way.direct ? ["--direct"] : [])];
  const started = startDecant([...args, way.source === "path" ? file : "-", device], {
    stdin: way.source === "path" ? "ignore" : "pipe",
  });
  started.child.stdin?.end(image);
  const { status, stderr } = await started.ended;
  assert.equal(status, 0, stderr);
}

function assertPoured(actual: Buffer, garbage: Buffer, sectorSize: number, name: string): void {
  const disk = sectorwiseDisk();
  const end = alignUp(disk.length, sectorSize);
  const expected = Buffer.from(garbage);
  expected.fill(0, 0, end);
  disk.copy(expected);
  if (actual.equals(expected)) return;
  let at = 0;
  while (actual[at] === expected[at]) at += 1;
  assert.fail(`${name}: differs at ${at} (disk of ${disk.length}, device of ${DEVICE_SIZE}, sector of ${sectorSize})`);
}

interface Change {
  readonly line: string;
  readonly offset: number;
  readonly length: number;
}

/** Writes and zeroings of `device` in a trace. */
function changesOf(trace: readonly string[], device: string): Change[] {
  const changes: Change[] = [];
  for (const line of trace) {
    if (!line.includes(`<${device}>`)) continue;
    const write = /\bpwrite64\(.*, (\d+), (\d+)(?:\) | <unf)/.exec(line);
    const zeroing = /\bfallocate\(.*, (\d+), (\d+)(?:\) | <unf)/.exec(line);
    const ioctl = /\bioctl\(.*(BLKZEROOUT|BLKDISCARD), \[(\d+), (\d+)\]/.exec(line);
    if (write !== null) changes.push({ line, offset: Number(write[2]), length: Number(write[1]) });
    else if (zeroing !== null) changes.push({ line, offset: Number(zeroing[1]), length: Number(zeroing[2]) });
    else if (ioctl !== null) changes.push({ line, offset: Number(ioctl[2]), length: Number(ioctl[3]) });
    else if (!/\bioctl\(.*BLK\w*(GET|SIZE)/.test(line)) assert.fail(`what is this: ${line}`);
  }
  return changes;
}
