/**
 * Faults of targets, devices and filesystems that users of image importers have reported, each with its input: CDI is
 * kubevirt/containerized-data-importer, HV harvester/harvester, LH longhorn/longhorn.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { canAlignBuffers } from "../../importer/direct-io.ts";
import { baseDisk } from "../support/base-disk.ts";
import { withExt4, withFolder, withLoopDevice, withRamfs, withTmpfs } from "../support/loop-device.ts";
import { imageOf, inTemporaryFolder } from "../support/qemu-images.ts";
import type { RunResult } from "../support/run-decant.ts";
import { NOBODY, runDecantAs, startDecant, traceDecant, until } from "../support/start-decant.ts";
import { requireLoopDevices, requireTools } from "../support/tools.ts";

const MIB = 1024 * 1024;

describe(
  "reported cases of targets",
  { skip: requireLoopDevices() || requireTools("qemu-img", "mke2fs", "strace") },
  () => {
    it("T01 (CDI#4175): a device with sectors of 4096 bytes takes any image, the empty one too", async () => {
      const inputs: readonly (readonly [name: string, image: Uint8Array, disk: Buffer])[] = [
        ["empty qcow2", emptyQcow2(MIB), Buffer.alloc(MIB)],
        ["qcow2 that ends within a sector", imageOf(baseDisk(MIB + 512), "qcow2"), baseDisk(MIB + 512)],
        ["raw of four bytes", Buffer.from("disk"), Buffer.from("disk")],
      ];
      for (const [name, image, disk] of inputs) {
        await withLoopDevice({ size: 3 * MIB, sectorSize: 4096 }, async (device, backing) => {
          await convertTo(device, image);
          const padded = Buffer.alloc(Math.ceil(disk.length / 4096) * 4096);
          disk.copy(padded);
          assert.ok(fs.readFileSync(backing).subarray(0, padded.length).equals(padded), name);
        });
      }
    });

    it("T03 (CDI#3567): a disk that fits the measured free space is not refused by a percentage", async () => {
      await withExt4(48 * MIB, async (folder) => {
        const { bavail, bsize } = fs.statfsSync(folder);
        const disk = dense(bavail * bsize - 256 * 1024);
        await convertTo(path.join(folder, "disk.raw"), disk);
        assert.ok(fs.readFileSync(path.join(folder, "disk.raw")).equals(disk));
      });
    });

    it("T04 (HV#11696): what does not fit is said with both figures, and a sparse disk needs only its data", async () => {
      await withExt4(48 * MIB, async (folder) => {
        const target = path.join(folder, "disk.raw");
        const { bavail, bsize } = fs.statfsSync(folder);
        const tooLarge = dense(bavail * bsize + 8 * MIB);
        const early = await convert(target, tooLarge, ["--preallocate", "falloc"]);
        assert.equal(early.status, 4, early.stderr);
        assert.match(early.stderr, new RegExp(`needs ${tooLarge.length} bytes, and its filesystem has \\d+ left`));
        const late = await convert(target, tooLarge);
        assert.equal(late.status, 4, late.stderr);
        assert.match(late.stderr, /no space is left/);
        assert.deepEqual(fs.readdirSync(folder), ["lost+found"]);
        await convertTo(target, imageOf(baseDisk(16 * MIB), "qcow2"), ["--size", "1Gi"]);
        assert.equal(fs.statSync(target).size, 1024 * MIB);
      });
    });

    it("T06 (CDI#779): stale bytes of a device or a file do not shine through", async () => {
      const disk = baseDisk(4 * MIB);
      for (const [format, ...options] of [["raw"], ["qcow2"], ["vhdx"], ["qcow2", "-c"]] as const) {
        const image = imageOf(disk, format, options);
        for (const stdin of [false, true]) {
          await withLoopDevice({ size: 4 * MIB }, async (device, backing) => {
            await convertTo(device, image, [], stdin);
            assert.ok(fs.readFileSync(backing).equals(disk), `${format}, device`);
          });
          await withFolder(async (folder) => {
            const target = path.join(folder, "disk.raw");
            fs.writeFileSync(target, dense(6 * MIB));
            await convertTo(target, image, ["--force"], stdin);
            assert.ok(fs.readFileSync(target).equals(disk), `${format}, file`);
          });
        }
      }
    });

    it("T07 (CDI#3614): a thin device gives back what the disk does not use", async () => {
      const size = 64 * MIB;
      const disk = Buffer.alloc(size);
      baseDisk(2 * MIB).copy(disk);
      const image = imageOf(disk, "qcow2");
      for (const stdin of [false, true]) {
        await withLoopDevice({ size }, async (device, backing) => {
          assert.ok(allocated(backing) >= size, "it is full of random bytes before");
          await convertTo(device, image, [], stdin);
          assert.ok(fs.readFileSync(backing).equals(disk));
          assert.ok(allocated(backing) <= 6 * MIB, `${allocated(backing)} bytes are still allocated`);
        });
      }
    });

    it("T08 (HV#10056): what a killed run left is removed before free space is measured", async () => {
      const disk = dense(16 * MIB);
      await withTmpfs(24 * MIB, async (folder) => {
        const first = startDecant(["convert", "-", "disk.raw"], { cwd: folder, stdin: "pipe" });
        await first.feed(disk.subarray(0, 14 * MIB));
        await until(() => allocated(path.join(folder, ".disk.raw.decant-partial")) > 10 * MIB);
        first.child.kill("SIGKILL");
        await first.ended;
        await convertTo(path.join(folder, "disk.raw"), disk, ["--preallocate", "full"]);
        assert.deepEqual(fs.readdirSync(folder), ["disk.raw"]);
        assert.ok(fs.readFileSync(path.join(folder, "disk.raw")).equals(disk));
      });
    });

    it("T11 (CDI#1311): a filesystem without O_DIRECT is written through the cache, and that is said once", async () => {
      await withRamfs(async (folder) => {
        const disk = baseDisk(MIB);
        const { status, stderr, stdout } = await convert(path.join(folder, "disk.raw"), disk, ["--direct", "--json"]);
        assert.equal(status, 0, stderr);
        assert.ok(fs.readFileSync(path.join(folder, "disk.raw")).equals(disk));
        const { warnings } = JSON.parse(stdout) as { readonly warnings: readonly { readonly message: string }[] };
        assert.equal(warnings.length, 1);
        // Without a compiler the package for aligned memory is not there, and nothing is tried.
        const note = canAlignBuffers() ? /refuses O_DIRECT, so it is written/ : /needs the package @ronomon\/direct-io/;
        assert.match(warnings[0]?.message ?? "", note);
      });
    });

    it("T12 (CDI#2419): a disk above the filesystem's largest file is refused by that name", async () => {
      await withExt4(16 * MIB, async (folder) => {
        for (const stdin of [false, true]) {
          const { status, stderr } = await convert(path.join(folder, "disk.raw"), emptyQcow2("20T"), [], stdin);
          assert.equal(status, 4, stderr);
          assert.match(
            stderr,
            /21990232555520 bytes in .*: that is more than the largest file of its filesystem\. Choose/,
          );
          assert.deepEqual(fs.readdirSync(folder), ["lost+found"]);
        }
      });
    });

    it("T13 (CDI#3212): zeros that a raw image spells out take no space", async () => {
      const disk = Buffer.alloc(64 * MIB);
      baseDisk(2 * MIB).copy(disk, 16 * MIB);
      for (const [image, stdin] of [
        [disk, false],
        [disk, true],
        [gzipSync(disk, { level: 1 }), false],
      ] as const) {
        await withFolder(async (folder) => {
          const target = path.join(folder, "disk.raw");
          await convertTo(target, image, [], stdin);
          assert.ok(fs.readFileSync(target).equals(disk));
          assert.ok(allocated(target) <= 3 * MIB, `${allocated(target)} bytes are allocated`);
        });
      }
    });

    it("T14 (CDI#2638, LH#8527): a device of root's, run as another user: one line with the remedy", async () => {
      await withLoopDevice({ size: MIB }, async (device) => {
        await withFolder(async (folder) => {
          fs.chmodSync(folder, 0o755);
          const source = path.join(folder, "image");
          fs.writeFileSync(source, Buffer.alloc(512));
          const { status, stderr } = await runDecantAs(NOBODY, ["convert", source, device]);
          assert.equal(status, 1);
          const { uid, gid } = fs.statSync(device);
          const remedy = `It belongs to user ${uid} and group ${gid}: run as one of them, or have its owner changed.`;
          assert.equal(stderr, `decant: no permission to write the device ${device}. ${remedy} [TARGET_DENIED]\n`);
        });
      });
    });

    it("T15 (CDI#1102): success is said only after file and folder, or the device, are on stable storage", async () => {
      await withLoopDevice({ size: 4 * MIB }, async (device) => {
        await withFolder(async (folder) => {
          fs.writeFileSync(path.join(folder, "image"), imageOf(baseDisk(4 * MIB), "qcow2"));
          const calls = "fsync,pwrite64,link,linkat,rename,renameat,renameat2,write,exit_group";
          const file = await traceDecant(calls, ["convert", "image", "disk.raw"], { cwd: folder });
          assert.equal(file.status, 0, file.stderr);
          inOrder(file.trace, [
            /pwrite64\(\d+<.*decant-partial>/,
            /fsync\(\d+<.*decant-partial>/,
            /link|rename/,
            new RegExp(`fsync\\(\\d+<${folder}>`),
            /write\(2<.*4 MiB disk from/,
          ]);
          const onDevice = await traceDecant(calls, ["convert", "image", device], { cwd: folder });
          assert.equal(onDevice.status, 0, onDevice.stderr);
          const lastWrite = onDevice.trace.findLastIndex(
            (line) => line.includes("pwrite64") && line.includes(`<${device}`),
          );
          assert.ok(lastWrite > 0);
          inOrder(onDevice.trace.slice(lastWrite), [
            /pwrite64/,
            new RegExp(`fsync\\(\\d+<${device}`),
            /write\(2<.*4 MiB disk from/,
          ]);
        });
      });
    });

    it("T17 (CDI#3457): the source is read once, raw too", async () => {
      for (const [format, stdin] of [
        ["raw", false],
        ["qcow2", false],
        ["raw", true],
        ["qcow2", true],
      ] as const) {
        await withFolder(async (folder) => {
          const image = imageOf(baseDisk(8 * MIB), format);
          const source = path.join(folder, "image");
          fs.writeFileSync(source, image);
          const fd = stdin ? fs.openSync(source, "r") : undefined;
          const calls = "read,pread64,readv,preadv,sendfile,splice,copy_file_range,mmap";
          const args = ["convert", stdin ? "-" : source, path.join(folder, "disk.raw")];
          const { status, stderr, trace } = await traceDecant(calls, args, { stdin: fd ?? "ignore" });
          if (fd !== undefined) fs.closeSync(fd);
          assert.equal(status, 0, stderr);
          const bytes = bytesRead(trace, source);
          assert.ok(bytes > 0.1 * image.length, "the trace shows what is read");
          assert.ok(bytes <= image.length + 256 * 1024, `${bytes} bytes were read of ${image.length} (${format})`);
        });
      }
    });

    it("T18 (CDI#3808): --preallocate reserves or writes all of the disk, on a device as in a file", async () => {
      const disk = Buffer.alloc(32 * MIB);
      baseDisk(2 * MIB).copy(disk);
      const image = imageOf(disk, "qcow2");
      for (const [mode, stdin] of [
        ["falloc", false],
        ["full", false],
        ["falloc", true],
        ["full", true],
      ] as const) {
        await withFolder(async (folder) => {
          const target = path.join(folder, "disk.raw");
          await convertTo(target, image, ["--preallocate", mode], stdin);
          assert.ok(fs.readFileSync(target).equals(disk), mode);
          assert.ok(allocated(target) >= disk.length, `${mode}: ${allocated(target)} bytes are allocated`);
        });
        await withLoopDevice({ size: disk.length, fill: "zeros" }, async (device, backing) => {
          await convertTo(device, image, ["--preallocate", mode], stdin);
          assert.ok(fs.readFileSync(backing).equals(disk), mode);
          assert.ok(
            allocated(backing) >= disk.length,
            `${mode}: ${allocated(backing)} bytes of the device are allocated`,
          );
        });
      }
    });
  },
);

/** Converts `image` to `target`. */
async function convert(
  target: string,
  image: Uint8Array,
  options: readonly string[] = [],
  stdin = false,
): Promise<RunResult> {
  return await withFolder(async (folder) => {
    const source = path.join(folder, "image");
    fs.writeFileSync(source, image);
    const decant = startDecant(["convert", ...options, stdin ? "-" : source, target], {
      stdin: stdin ? "pipe" : "ignore",
    });
    decant.child.stdin?.end(image);
    return await decant.ended;
  });
}

/** And succeeds. */
async function convertTo(
  target: string,
  image: Uint8Array,
  options?: readonly string[],
  stdin?: boolean,
): Promise<void> {
  const { status, stderr } = await convert(target, image, options, stdin);
  assert.equal(status, 0, stderr);
}

function emptyQcow2(size: number | string): Buffer {
  return inTemporaryFolder((folder) => {
    execFileSync("qemu-img", ["create", "-q", "-f", "qcow2", "empty", String(size)], { cwd: folder });
    return fs.readFileSync(path.join(folder, "empty"));
  });
}

/** Without a zero in it. */
function dense(length: number): Buffer {
  return Buffer.alloc(length, "no zeros in here; ");
}

function allocated(file: string): number {
  return (fs.statSync(file, { throwIfNoEntry: false })?.blocks ?? 0) * 512;
}

function inOrder(trace: readonly string[], steps: readonly RegExp[]): void {
  let from = 0;
  for (const step of steps) {
    const at = trace.findIndex((line, index) => index >= from && step.test(line));
    assert.ok(
      at >= 0,
      `${String(step)} does not come after what was expected before it:\n${trace.slice(from).join("\n")}`,
    );
    from = at + 1;
  }
}

/** Bytes that the calls on `file` returned. A call's end may stand lines after its start, with the thread's number. */
function bytesRead(trace: readonly string[], file: string): number {
  const unfinished = new Set<string>();
  let bytes = 0;
  for (const line of trace) {
    const thread = line.split(" ")[0] ?? "";
    const isOurs = line.includes(`<${file}>`) || (unfinished.has(thread) && line.includes("resumed>"));
    if (!isOurs) continue;
    assert.doesNotMatch(line, /mmap|sendfile|splice|copy_file_range/);
    if (line.includes("<unfinished")) unfinished.add(thread);
    else unfinished.delete(thread);
    bytes += Number(/\) += (\d+)$/.exec(line)?.[1] ?? 0);
  }
  return bytes;
}
