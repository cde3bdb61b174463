/**
 * The worker on real volumes: small filesystems of a known size, and loop devices. Sizes are those of the contract, to the byte.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import zlib from "node:zlib";
import { partialPath } from "../../importer/targets/partial-file.ts";
import { baseDisk } from "../support/base-disk.ts";
import { buildQcow2, dataFirst } from "../support/build-qcow2.ts";
import { sampleBytes } from "../support/images.ts";
import { withExt2, withExt4, withFolder, withLoopDevice, withTmpfs } from "../support/loop-device.ts";
import { withServer } from "../support/misbehaving-server.ts";
import type { Misdeed } from "../support/misbehaving-server.ts";
import { withProjectFor } from "../support/start-decant.ts";
import { requireLoopDevices, requireRoot } from "../support/tools.ts";
import { leftIn, runWorker, workerPlace } from "../support/worker.ts";
import type { WorkerPlace, WorkerResult, WorkerStart } from "../support/worker.ts";

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;
const COMPLETE = '{"scratchSpaceRequired":false,"preallocationApplied":false,"message":"Import Complete"}';

const disk = baseDisk(8 * MIB);
const small = sampleBytes("qcow2/zlib.qcow2");
const smallDisk = sampleBytes("raw/patterned.raw");

interface Served {
  readonly bytes: Buffer;
  readonly misdeed?: Misdeed;
  readonly env?: Readonly<Record<string, string>>;
  readonly start?: WorkerStart;
}

/** Imports `bytes` over http into `place`. */
async function importInto(place: WorkerPlace, { bytes, misdeed, env, start }: Served): Promise<WorkerResult> {
  return await withServer({ bytes, etag: '"v1"', misdeed: () => misdeed }, async ({ origin }) => {
    const source = { IMPORTER_SOURCE: "http", IMPORTER_ENDPOINT: `${origin}/disk` };
    return await runWorker(place, { ...start, env: { ...source, ...env } });
  });
}

describe("a filesystem volume", { skip: requireRoot(), concurrency: 2 }, () => {
  const rows: readonly [
    name: string,
    volume: number,
    bytes: Buffer,
    env: Readonly<Record<string, string>>,
    size: number,
    warns?: true,
  ][] = [
    ["A: the claim has room for the overhead", 2 * GIB, small, { IMPORTER_IMAGE_SIZE: "1138166334" }, GIB],
    // The nearest that a filesystem of whole pages comes to the contract's 1095216660 bytes.
    ["B: less free than claimed", 267_387 * 4096, small, { IMPORTER_IMAGE_SIZE: "1138166334" }, 985 * MIB, true],
    ["C: the claim is the disk's size", 2 * GIB, small, { IMPORTER_IMAGE_SIZE: "1Gi" }, 966 * MIB],
    ["D: the image is as large as the claim", 2 * GIB, buildQcow2({ size: GIB }), { IMPORTER_IMAGE_SIZE: "1Gi" }, GIB],
    ["F: a small claim", 2 * GIB, buildQcow2({ size: 18 * MIB }), { IMPORTER_IMAGE_SIZE: "24452793" }, 22 * MIB],
    ["half of it is overhead", 2 * GIB, small, { IMPORTER_IMAGE_SIZE: "1G", FILESYSTEM_OVERHEAD: "0.5" }, 635 * MIB],
    ["no overhead", 2 * GIB, small, { IMPORTER_IMAGE_SIZE: "1G", FILESYSTEM_OVERHEAD: "0" }, 999_292_928],
    ["no image", 2 * GIB, small, { IMPORTER_SOURCE: "none", IMPORTER_IMAGE_SIZE: "1Gi" }, 966 * MIB],
    ["no image, little room", 64 * MIB, small, { IMPORTER_SOURCE: "none", IMPORTER_IMAGE_SIZE: "1Gi" }, 60 * MIB, true],
  ];
  for (const [name, volume, bytes, env, size, warns] of rows) {
    it(name, async () => {
      await withFolder(async (folder) => {
        await withTmpfs(volume, async (data) => {
          const place = workerPlace(folder, { data });
          const { status, lines, log } = await importInto(place, { bytes, env });
          assert.equal(status, 0, log);
          assert.deepEqual(leftIn(place), ["disk.img"]);
          assert.equal(fs.statSync(path.join(data, "disk.img")).size, size);
          assert.equal(
            lines.some((line) => /^available space \d+ is less than the requested size/.test(line)),
            warns === true,
          );
        });
      });
    });
  }

  it("takes its own leftovers away before it measures, and nothing else", async () => {
    await withFolder(async (folder) => {
      await withTmpfs(24 * MIB, async (data) => {
        const place = workerPlace(folder, { data });
        const old = path.join(data, "disk.img");
        const leftovers = [old, partialPath(old), path.join(data, ".decant-0b06ed5c-9a37-4d3c-8c17-7d04a9f3a6a1")];
        for (const name of leftovers) fs.writeFileSync(name, Buffer.alloc(7 * MIB, 1));
        const others = ["lost+found", ".decant-notes", "disk.img.bak", ".disk.img.other-partial"];
        for (const name of others) fs.writeFileSync(path.join(data, name), "kept");
        const { status, log, lines } = await importInto(place, { bytes: Buffer.alloc(12 * MIB, 1) });
        assert.equal(status, 0, log);
        assert.deepEqual(leftIn(place), [...others, "disk.img"].sort());
        assert.equal(lines.filter((line) => line === "removed what an earlier attempt left").length, 3);
      });
    });
  });

  it("has its space taken where that is asked for, also where files cannot be preallocated", async () => {
    for (const withVolume of [withExt4, withExt2]) {
      await withVolume(64 * MIB, async (data) => {
        await withFolder(async (folder) => {
          const place = workerPlace(folder, { data });
          const env = { IMPORTER_IMAGE_SIZE: "20Mi", PREALLOCATION: "true" };
          const { status, message, log } = await importInto(place, { bytes: small, env });
          assert.deepEqual([status, message], [0, COMPLETE.replace('Applied":false', 'Applied":true')], log);
          const { size, blocks } = fs.statSync(path.join(data, "disk.img"));
          assert.equal(size, 18 * MIB);
          assert.ok(blocks * 512 >= size, `${blocks} blocks`);
        });
      });
    }
  });

  for (const own of [false, true]) {
    it(`fills up midway${own ? ", for our own controller" : ""}`, async () => {
      await withFolder(async (folder) => {
        await withTmpfs(20 * MIB, async (data) => {
          const place = workerPlace(folder, { data });
          const bytes = Buffer.alloc(18 * MIB, 1);
          const served = { bytes, etag: '"v1"', misdeed: (number: number) => fill(number, path.join(data, "filler")) };
          const { status, message, log } = await withServer(served, async ({ origin }) => {
            const source = { IMPORTER_SOURCE: "http", IMPORTER_ENDPOINT: `${origin}/disk` };
            return await runWorker(place, { env: { ...source, ...(own ? { DECANT_CONTROLLER: "1" } : {}) } });
          });
          assert.equal(status, 1, log);
          assert.match(message ?? "", /^Unable to process data: .*no space left on device: .* \[TARGET_NO_SPACE\]$/);
          assert.deepEqual(leftIn(place), ["filler"]);
        });
      });
    });
  }

  it("is refused from the first bytes where it is too small, and nothing is written", async () => {
    await withFolder(async (folder) => {
      const place = workerPlace(folder);
      const large = Buffer.alloc(64 * MIB, 1);
      const qcow2 = buildQcow2({ size: 64 * MIB, content: large });
      for (const [bytes, ignoresRange] of [
        [large, true],
        [large, false],
        [qcow2, true],
        [qcow2, false],
      ] as const) {
        const misdeed = { stallAfter: 900_000, ignoresRange };
        const { status, message, log } = await importInto(place, {
          bytes,
          misdeed,
          env: { IMPORTER_IMAGE_SIZE: "32Mi" },
        });
        assert.equal(status, 1, log);
        assert.match(
          message ?? "",
          /is larger than the reported available storage 33554432\. A larger PVC is required: /,
        );
        assert.match(
          message ?? "",
          /\d+ bytes free of 33554432 claimed, 31457280 usable .* more are needed, and a claim of .*\dMi would work/,
        );
        assert.deepEqual(leftIn(place), []);
      }
    });
  });
});

/** Takes room that the disk was promised: the volume is measured before the server is asked, and written after that. */
function fill(number: number, filler: string): Misdeed | undefined {
  if (number === 1) fs.writeFileSync(filler, Buffer.alloc(8 * MIB, 2));
  return undefined;
}

describe("a block volume", { skip: requireLoopDevices(), concurrency: 2 }, () => {
  for (const sectorSize of [512, 4096] as const) {
    for (const [name, bytes, content] of [
      ["E: a qcow2 smaller than the device", small, smallDisk],
      ["a raw stream", zlib.gzipSync(disk.subarray(0, 5 * MIB + 512)), disk.subarray(0, 5 * MIB + 512)],
    ] as const) {
      it(`${name}, sectors of ${sectorSize}: what lies behind the disk stays`, async () => {
        await withLoopDevice({ size: 32 * MIB, sectorSize }, async (device, backing) => {
          await withFolder(async (folder) => {
            const before = fs.readFileSync(backing);
            const place = workerPlace(folder, { device });
            const { status, message, log, lines } = await importInto(place, {
              bytes,
              env: { IMPORTER_IMAGE_SIZE: "32Mi" },
            });
            assert.deepEqual([status, message], [0, COMPLETE], log);
            assert.ok(lines.includes(`Successfully completed fsync(${device}) syscall, committed to disk`));
            const after = fs.readFileSync(backing);
            assert.ok(after.subarray(0, content.length).equals(content));
            const end = Math.ceil(content.length / sectorSize) * sectorSize;
            assert.ok(after.subarray(end).equals(before.subarray(end)));
          });
        });
      });
    }
  }

  it("is refused where it is too small, and stays as it was", async () => {
    await withLoopDevice({ size: 16 * MIB }, async (device, backing) => {
      await withFolder(async (folder) => {
        const digest = digestOf(backing);
        const place = workerPlace(folder, { device });
        for (const bytes of [buildQcow2({ size: 10 * GIB }), Buffer.alloc(17 * MIB, 1)]) {
          const { status, message, log } = await importInto(place, {
            bytes,
            misdeed: { stallAfter: 900_000, ignoresRange: true },
          });
          assert.equal(status, 1, log);
          assert.match(
            message ?? "",
            /is larger than the reported available storage 16777216\. A larger PVC is required/,
          );
          assert.equal(digestOf(backing), digest);
        }
      });
    });
  });

  it("loses its first and last MiB to a wrong checksum, so that nothing boots", async () => {
    await withLoopDevice({ size: 16 * MIB }, async (device, backing) => {
      await withFolder(async (folder) => {
        const env = { IMPORTER_CHECKSUM: `md5:${"0".repeat(32)}` };
        const { status, message } = await importInto(workerPlace(folder, { device }), { bytes: disk, env });
        assert.equal(status, 0);
        assert.match(message ?? "", /^\{"message":".*checksum mismatch: .*\}$/);
        const after = fs.readFileSync(backing);
        assert.ok(after.subarray(0, MIB).equals(Buffer.alloc(MIB)));
        assert.ok(after.subarray(-MIB).equals(Buffer.alloc(MIB)));
      });
    });
  });

  it("without an image is left alone, or filled where its space is asked for", async () => {
    await withLoopDevice({ size: 16 * MIB }, async (device, backing) => {
      await withFolder(async (folder) => {
        const digest = digestOf(backing);
        const before = fs.readFileSync(backing);
        const place = workerPlace(folder, { device });
        const env = { IMPORTER_SOURCE: "none", IMPORTER_IMAGE_SIZE: "12Mi" };
        const alone = await runWorker(place, { env });
        assert.deepEqual([alone.status, alone.message], [0, undefined], alone.log);
        assert.equal(digestOf(backing), digest);
        const filled = await runWorker(place, { env: { ...env, PREALLOCATION: "true" } });
        assert.deepEqual(
          [filled.status, filled.message],
          [0, '{"preallocationApplied":true,"message":"Import Complete"}'],
        );
        const after = fs.readFileSync(backing);
        assert.ok(after.subarray(0, 12 * MIB).equals(Buffer.alloc(12 * MIB)));
        assert.ok(after.subarray(12 * MIB).equals(before.subarray(12 * MIB)));
      });
    });
  });

  it("that belongs to root is refused with a remedy of one line, and no message", async () => {
    await withLoopDevice({ size: 16 * MIB }, async (device) => {
      await withFolder(async (folder) => {
        fs.chmodSync(folder, 0o755);
        const result = await withProjectFor((root) => {
          return importInto(workerPlace(folder, { device }), { bytes: small, start: { user: 107, root } });
        });
        assert.deepEqual([result.status, result.message], [1, undefined], result.log);
        const last = JSON.parse(result.log.trimEnd().split("\n").at(-1) ?? "") as { error: string };
        assert.match(
          last.error,
          /^cannot open \/dev\/loop\d+: Permission denied, it belongs to user 0 and group \d+\. Set device_ownership_from_security_context = true in [^\n]*$/,
        );
      });
    });
  });
});

describe("an image that is badly out of order", { skip: requireRoot(), concurrency: 2 }, () => {
  // 31 MiB, and memory holds 24.
  const clusters = 500;
  const image = dataFirst(clusters);
  const content = image.subarray(65_536, (1 + clusters) * 65_536);
  const asStream = { ignoresRange: true, headers: { etag: undefined, "accept-ranges": "none" } };

  it("waits on the scratch volume where there is one", async () => {
    await withFolder(async (folder) => {
      await withTmpfs(40 * MIB, async (data) => {
        const scratch = path.join(folder, "scratch");
        fs.mkdirSync(scratch);
        const place = workerPlace(folder, { data, scratch });
        const { status, message, log } = await importInto(place, { bytes: image, misdeed: asStream });
        assert.deepEqual([status, message], [0, COMPLETE], log);
        assert.match(log, /waits on the scratch volume/);
        assert.ok(fs.readFileSync(path.join(data, "disk.img")).subarray(0, content.length).equals(content));
        assert.deepEqual(fs.readdirSync(scratch), []);
      });
    });
  });

  it("waits beside the disk where there is room for both", async () => {
    await withFolder(async (folder) => {
      await withTmpfs(80 * MIB, async (data) => {
        const place = workerPlace(folder, { data });
        const { status, message, log } = await importInto(place, { bytes: image, misdeed: asStream });
        assert.deepEqual([status, message], [0, COMPLETE], log);
        assert.match(log, /waits beside the disk/);
        assert.ok(fs.readFileSync(path.join(data, "disk.img")).subarray(0, content.length).equals(content));
        assert.deepEqual(leftIn(place), ["disk.img"]);
      });
    });
  });

  for (const own of [false, true]) {
    it(`asks for scratch space elsewhere${own ? ", our own controller too" : ""}`, async () => {
      await withFolder(async (folder) => {
        await withTmpfs(40 * MIB, async (data) => {
          const place = workerPlace(folder, { data });
          const start = { args: ["--explain"] };
          const env = own ? { DECANT_CONTROLLER: "1" } : {};
          const { status, message, log, stdout } = await importInto(place, {
            bytes: image,
            misdeed: asStream,
            env,
            start,
          });
          const asks = '{"scratchSpaceRequired":true,"preallocationApplied":false,"message":"Import Complete"}';
          assert.deepEqual([status, message], [0, asks], log);
          assert.deepEqual(leftIn(place), []);
          assert.match(stdout, /\* Transfer {2}.*\[needs-scratch → Complete\]/);
        });
      });
    });
  }
});

function digestOf(file: string): string {
  return createHash("sha256").update(fs.readFileSync(file)).digest("hex");
}
