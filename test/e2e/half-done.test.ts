/**
 * Runs that fail in the middle: the right exit code, one sentence, no partial disk, an existing file untouched, and a device
 * that does not boot.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { before, describe, it } from "node:test";
import { randomBytes } from "../support/base-disk.ts";
import { withExt4, withFolder, withLoopDevice, withTmpfs } from "../support/loop-device.ts";
import { imageOf } from "../support/qemu-images.ts";
import { startDecant } from "../support/start-decant.ts";
import { requireLoopDevices, requireRoot, requireTools } from "../support/tools.ts";

const MIB = 1024 * 1024;
/** No zeros, and nothing that compresses away, so that each part of it is written. */
const disk = denseDisk(12 * MIB);

interface Fault {
  readonly name: string;
  readonly exit: number;
  readonly says: RegExp;
  /** The image, fit to fail. */
  readonly make: () => Buffer;
  readonly args?: (image: Buffer) => string[];
}

const faults: readonly Fault[] = [
  {
    name: "a qcow2 that ends early",
    exit: 3,
    says: /beyond the end of the file|the image ends at.*truncated/,
    make: () => imageOf(disk, "qcow2").subarray(0, 8 * MIB),
  },
  {
    name: "a compressed cluster that is damaged",
    exit: 3,
    says: /compressed data of the disk at 0x[0-9a-f]+ does not decode/,
    make: () => damaged(imageOf(disk, "qcow2", ["-c"])),
  },
  { name: "an xz stream that is damaged", exit: 3, says: /xz/, make: () => damaged(compressed("xz", "-0", "-T1")) },
  {
    name: "an xz stream that ends early",
    exit: 3,
    says: /xz.*(ends|truncated)/,
    make: () => compressed("xz", "-0", "-T1").subarray(0, -5000),
  },
  {
    name: "a gzip stream that ends early",
    exit: 3,
    says: /gzip.*(ends|truncated)/,
    make: () => compressed("gzip", "-1").subarray(0, -9),
  },
  {
    name: "a gzip stream with another length in its trailer",
    exit: 3,
    says: /gzip/,
    make: () => flipped(compressed("gzip", "-1"), -1),
  },
  {
    name: "a zstd stream that ends early",
    exit: 3,
    says: /zstd.*(ends|truncated)/,
    make: () => compressed("zstd", "-1").subarray(0, -50),
  },
  {
    name: "a checksum that differs",
    exit: 6,
    says: /source's sha256 is [0-9a-f]{64}, not 0{64}\. .*nothing of it was kept\. \[SOURCE_CHECKSUM\]/,
    make: () => disk,
    args: () => ["--checksum", `sha256:${"0".repeat(64)}`],
  },
];

describe("a run that fails in the middle", { skip: requireTools("qemu-img", "xz", "zstd") }, () => {
  const images = new Map<string, Buffer>();
  before(() => {
    for (const fault of faults) images.set(fault.name, fault.make());
  });

  for (const { name, exit, says, args } of faults) {
    for (const source of ["path", "standard input"] as const) {
      it(`${name}, from ${source}, into a file`, async () => {
        await withFolder(async (folder) => {
          const image = images.get(name) ?? assert.fail(name);
          writeFileSync(path.join(folder, "old"), "the old disk");
          for (const target of [["disk.raw"], ["--force", "old"]]) {
            const result = await run(folder, image, source, [...(args?.(image) ?? [])], target);
            assertFailed(result, exit, says);
            assert.deepEqual(readdirSync(folder).sort(), ["image", "old"]);
            assert.equal(readFileSync(path.join(folder, "old"), "utf8"), "the old disk");
          }
        });
      });

      it(`${name}, from ${source}, onto a device`, { skip: requireLoopDevices() }, async () => {
        await withTmpfs(64 * MIB, async (folder) => {
          await withLoopDevice({ size: 14 * MIB, folder }, async (device, backing) => {
            const image = images.get(name) ?? assert.fail(name);
            const result = await run(folder, image, source, [...(args?.(image) ?? [])], [device]);
            assertFailed(result, exit, says);
            const left = readFileSync(backing);
            const nothing = Buffer.alloc(MIB);
            if (left.subarray(0, MIB).equals(nothing)) {
              assert.ok(left.subarray(-MIB).equals(nothing), "the device's last MiB is zeroed");
            } else assert.fail("the device's first MiB is not zeroed");
          });
        });
      });
    }
  }
});

describe("a target that becomes full", { skip: requireRoot() || requireTools("qemu-img") }, () => {
  const rows = [
    { name: "tmpfs", within: (body: (folder: string) => Promise<void>) => withTmpfs(8 * MIB, body), needs: [] },
    { name: "ext4", within: (body: (folder: string) => Promise<void>) => withExt4(16 * MIB, body), needs: ["mke2fs"] },
  ] as const;
  for (const { name, within } of rows) {
    for (const options of [[], ["--threads", "1"], ["--direct"]]) {
      it(
        `${name} ${options.join(" ")}: exit 4, nothing left, the old file untouched`,
        { skip: requireLoopDevices() || requireTools("mke2fs") },
        async () => {
          await withFolder(async (sources) => {
            const source = path.join(sources, "image");
            writeFileSync(source, imageOf(denseDisk(20 * MIB), "qcow2"));
            await within(async (folder) => {
              writeFileSync(path.join(folder, "old"), "the old disk");
              for (const target of [["disk.raw"], ["--force", "old"]]) {
                const args = ["convert", ...options, ...target.slice(0, -1), source, ...target.slice(-1)];
                const result = await startDecant(args, { cwd: folder }).ended;
                assertFailed(
                  result,
                  4,
                  /no space is left\. Free space, or choose a target on a larger filesystem\. \[TARGET_NO_SPACE\]$/m,
                );
                assert.deepEqual(
                  readdirSync(folder).filter((file) => file !== "lost+found"),
                  ["old"],
                );
                assert.equal(readFileSync(path.join(folder, "old"), "utf8"), "the old disk");
              }
            });
          });
        },
      );
    }
  }
});

async function run(
  folder: string,
  image: Buffer,
  source: "path" | "standard input",
  options: readonly string[],
  target: readonly string[],
): Promise<{ status: number | null; stderr: string }> {
  writeFileSync(path.join(folder, "image"), image);
  const args = ["convert", ...options, ...target.slice(0, -1), source === "path" ? "image" : "-", ...target.slice(-1)];
  const decant = startDecant(args, { cwd: folder, stdin: source === "path" ? "ignore" : "pipe" });
  decant.child.stdin?.end(image);
  return await decant.ended;
}

function assertFailed({ status, stderr }: { status: number | null; stderr: string }, exit: number, says: RegExp): void {
  assert.equal(status, exit, stderr);
  assert.match(stderr, says);
  assert.equal(stderr.trimEnd().split("\n").length, 1, stderr);
  assert.doesNotMatch(stderr, /undefined|\[object|NaN|ENOSPC/);
}

function denseDisk(length: number): Buffer {
  const next = randomBytes(3);
  const all = Buffer.alloc(length, 0x41);
  // Each second 4 KiB, so that `qemu-img convert -c` compresses each cluster, and nothing much more.
  for (let at = 0; at < length; at += 8192) for (let i = 0; i < 4096; i++) all[at + i] = next() || 1;
  return all;
}

function compressed(tool: string, ...options: string[]): Buffer {
  return execFileSync(tool, [...options, "-c"], { input: disk, maxBuffer: 64 * MIB });
}

/** 128 KiB in the middle, so that the start of a compressed cluster is among them. */
function damaged(bytes: Buffer): Buffer {
  const changed = Buffer.from(bytes);
  const middle = Math.floor(bytes.length / 2);
  changed.fill(0xff, middle, middle + 128 * 1024);
  return changed;
}

function flipped(bytes: Buffer, at: number): Buffer {
  const changed = Buffer.from(bytes);
  const index = at < 0 ? bytes.length + at : at;
  changed[index] = (changed[index] ?? 0) ^ 1;
  return changed;
}
