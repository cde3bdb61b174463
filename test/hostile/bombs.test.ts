/**
 * Small inputs that ask for a lot: what they expand to is bounded by a limit that is named, by the target, or by whoever
 * waits for it, who can stop it; and memory stays what it is for any image.
 */
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import zlib from "node:zlib";
import { GIB, KIB, MIB, TIB } from "../../formats/bytes.ts";
import { buildTar, octal, paxEntry, tarHeader } from "../support/build-tar.ts";
import { buildTableBomb } from "../support/build-bombs.ts";
import { rawZstdFrame } from "../support/build-zstd.ts";
import { compressWith } from "../support/compress.ts";
import { convertFile, convertImage } from "../support/convert-image.ts";
import type { ConvertedImage } from "../support/convert-image.ts";
import { assertRefusal, expectRefusal } from "../support/expect-conversion.ts";
import { withLoopDevice, withTmpfs } from "../support/loop-device.ts";
import { dictionaryByte, withDictionary } from "../support/patch-xz.ts";
import { bytesReadBy } from "../support/process-work.ts";
import { startDecant } from "../support/start-decant.ts";
import { memoryFolder, withTemporaryFolder } from "../support/temporary-folder.ts";
import { requireLoopDevices, requireRoot, requireTools } from "../support/tools.ts";

const skip = requireTools("xz");

/** What an interruption may take, on a slow machine. */
const MOST_SECONDS_TO_STOP = 10;

/** What one gzip member gives; members may be repeated without end. */
const PART = 64 * MIB;

describe("expansion bombs", { skip }, () => {
  it("100 GiB of zeros in gzip, stopped half-way, leave nothing and took no memory", async () => {
    await withTemporaryFolder(async (folder) => {
      const source = path.join(folder, "zeros.raw.gz");
      writeRepeated(source, zlib.gzipSync(Buffer.alloc(PART)), (100 * GIB) / PART);
      const before = process.memoryUsage().rss;
      const converted = await stopped(500, (signal) => convertFile(source, folder, { signal }));
      assert.equal(converted.status, 130, converted.message);
      assert.equal(converted.size, undefined);
      assert.deepEqual(converted.leftovers, []);
      assert.ok(process.memoryUsage().rss - before < 300 * MIB);
    }, memoryFolder());
  });

  it("4 GiB of zeros in gzip become a file that takes no space", async () => {
    await withTemporaryFolder(async (folder) => {
      const source = path.join(folder, "zeros.raw.gz");
      writeRepeated(source, zlib.gzipSync(Buffer.alloc(PART)), (4 * GIB) / PART);
      const converted = await convertFile(source, folder);
      assert.equal(converted.status, 0, converted.message);
      assert.equal(converted.size, 4 * GIB);
      assert.equal(converted.allocated, 0);
      assert.equal(converted.result?.bytesWritten, 0);
    }, memoryFolder());
  });

  it("nine wrappers are refused, eight are not, whichever they are", async () => {
    const disk = Buffer.alloc(512, 3);
    const wrap = (depth: number): Buffer => {
      let bytes = disk;
      for (let i = 0; i < depth; i++) bytes = i % 3 === 2 ? zlib.zstdCompressSync(bytes) : zlib.gzipSync(bytes);
      return bytes;
    };
    const eight = await convertImage(wrap(8));
    assert.ok(eight.disk?.equals(disk), eight.message);
    await expectRefusal(wrap(9), "FORMAT_OUT_OF_BOUNDS", [/wrapped more than 8 times/]);
    let tar: Uint8Array = disk;
    for (let i = 0; i < 9; i++) tar = buildTar([{ name: "disk", content: tar }]);
    await expectRefusal(tar, "FORMAT_OUT_OF_BOUNDS", [/wrapped more than 8 times/]);
  });

  it("a sparse tar member that claims 8 EiB is refused", async () => {
    const old = tarHeader({
      name: "disk.raw",
      type: "S",
      magic: "gnu",
      size: 512,
      patch(block) {
        block.set(octal(0, 12), 386);
        block.set(octal(512, 12), 398);
        block.set(Buffer.from([0x80, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe, 0]), 483);
      },
    });
    await expectRefusal(Buffer.concat([old, Buffer.alloc(512, 5), Buffer.alloc(1024)]), "FORMAT_OUT_OF_BOUNDS", []);
    const size = String(2n ** 63n - 512n);
    const sparse: [string, string][] = [
      ["GNU.sparse.major", "1"],
      ["GNU.sparse.minor", "0"],
      ["GNU.sparse.name", "disk.raw"],
      ["GNU.sparse.realsize", size],
    ];
    const map = Buffer.alloc(512);
    map.write("1\n0\n512\n");
    const pax = buildTar([paxEntry(sparse), { name: "disk.raw", content: Buffer.concat([map, Buffer.alloc(512, 5)]) }]);
    await expectRefusal(pax, "FORMAT_OUT_OF_BOUNDS", []);
  });

  it("a sparse tar member of 4 PiB is too large for a file, and none is left", async () => {
    const map = Buffer.alloc(512);
    map.write("1\n0\n512\n");
    const bytes = buildTar([
      paxEntry([
        ["GNU.sparse.major", "1"],
        ["GNU.sparse.minor", "0"],
        ["GNU.sparse.name", "disk.raw"],
        ["GNU.sparse.realsize", String(4096 * TIB)],
      ]),
      { name: "disk.raw", content: Buffer.concat([map, Buffer.alloc(512, 5)]) },
    ]);
    await withTemporaryFolder(async (folder) => {
      const source = path.join(folder, "disk.tar");
      fs.writeFileSync(source, bytes);
      const converted = await convertFile(source, folder);
      // A filesystem with room for the number in its length takes it: it is all hole.
      if (converted.status === 0) assert.ok((converted.allocated ?? Infinity) < MIB);
      else assertRefusal(converted, "TARGET_TOO_SMALL", []);
      assert.deepEqual(converted.leftovers, []);
    });
  });

  it("a zstd window of 2 GiB is refused with both figures", async () => {
    for (const decoders of ["auto", "portable"]) {
      const bomb = rawZstdFrame(Buffer.alloc(MIB, 1), { windowDescriptor: (31 - 10) << 3 });
      const phrases = [/2147483648/, /536870912|\d{8,} are allowed|limit/];
      await expectRefusal(bomb, "FORMAT_OUT_OF_BOUNDS", phrases, { env: { DECANT_DECODERS: decoders } });
    }
  });

  it("an xz dictionary of 1.5 GiB is refused with both figures", async () => {
    const bomb = withDictionary(compressWith("xz", "-6")(Buffer.alloc(MIB, 1)), dictionaryByte(30, true));
    for (const decoders of ["auto", "portable"]) {
      const phrases = [/needs 16\d{8} bytes/, /\d{8,} are allowed/];
      await expectRefusal(bomb, "FORMAT_OUT_OF_BOUNDS", phrases, { env: { DECANT_DECODERS: decoders } });
    }
  });

  for (const cluster of ["data", "zero", "compressed"] as const) {
    it(`a qcow2 of 2 PiB whose every L1 entry names one L2 table of ${cluster} clusters can be stopped`, async () => {
      const bomb = buildTableBomb(4 * MIB, cluster);
      for (const args of [[], ["--checksum", `md5:${"0".repeat(32)}`]]) {
        const target = "null:";
        const { result, bytes } = await bytesReadBy(() =>
          stopped(1500, (signal) => convertImage(bomb, { args, target, signal })),
        );
        const name = `${cluster} ${args.join(" ")}: ${result.message}`;
        // A stream cannot go back to a cluster that has gone by; that is the other good end.
        if (result.code !== "FORMAT_UNSUPPORTED" && result.code !== "FORMAT_OUT_OF_BOUNDS") {
          assert.equal(result.code, "INTERRUPTED", name);
        }
        assert.ok(bytes < 4 * GIB, `${name}: ${bytes} bytes were read`);
      }
    });
  }
});

describe("commands that only look", () => {
  it("map, compare and convert to null: end soon after Ctrl-C, whatever the tables name", async () => {
    await withTemporaryFolder(async (folder) => {
      const source = path.join(folder, "bomb.qcow2");
      fs.writeFileSync(source, buildTableBomb(4 * MIB, "zero"));
      for (const args of [
        ["map", "--json", source],
        ["compare", source, source],
        ["convert", source, "null:"],
      ]) {
        const { child, ended } = startDecant(args);
        await sleep(2000);
        const stoppedAt = performance.now();
        child.kill("SIGINT");
        const { status, signal } = await ended;
        assert.ok(status === 130 || signal === "SIGINT", `${args[0]}: ${status} ${signal}`);
        const seconds = (performance.now() - stoppedAt) / 1000;
        assert.ok(seconds < MOST_SECONDS_TO_STOP, `${args[0]} took ${seconds} s to stop`);
      }
    }, memoryFolder());
  });
});

describe("expansion bombs on small targets", { skip: skip || requireRoot() || requireLoopDevices() }, () => {
  it("a gzip of 100 GiB that is no zeros ends when a small filesystem is full, and leaves it empty", async () => {
    await withTmpfs(64 * MIB, async (folder) => {
      await withTemporaryFolder(async (place) => {
        const source = path.join(place, "bomb.gz");
        writeRepeated(source, zlib.gzipSync(Buffer.alloc(PART, "bomb")), (100 * GIB) / PART);
        const converted = await convertFile(source, place, { target: path.join(folder, "disk.raw") });
        assertRefusal(converted, "TARGET_NO_SPACE", []);
        assert.deepEqual(fs.readdirSync(folder), []);
      }, memoryFolder());
    });
  });

  it("a gzip of 100 GiB ends at the end of a small device, and nothing on it boots", async () => {
    await withLoopDevice({ size: 64 * MIB }, async (device, backing) => {
      for (const content of [Buffer.alloc(PART), Buffer.alloc(PART, "bomb")]) {
        await withTemporaryFolder(async (place) => {
          const source = path.join(place, "bomb.gz");
          writeRepeated(source, zlib.gzipSync(content), (100 * GIB) / PART);
          const { result, bytes } = await bytesReadBy(() => convertFile(source, place, { target: device }));
          assertRefusal(result, "TARGET_TOO_SMALL", [/67108864/]);
          assert.ok(bytes < 64 * MIB, `${bytes} bytes were read`);
        }, memoryFolder());
        assert.ok(
          fs
            .readFileSync(backing)
            .subarray(0, MIB)
            .every((byte) => byte === 0),
          "the first MiB is zeros",
        );
      }
    });
  });

  it("a qcow2 whose every cluster is one and the same ends when the filesystem is full", async () => {
    await withTmpfs(64 * MIB, async (folder) => {
      const converted = await convertImage(buildTableBomb(64 * KIB, "data"), { target: path.join(folder, "disk.raw") });
      assertRefusal(converted, "TARGET_NO_SPACE", []);
      assert.deepEqual(fs.readdirSync(folder), []);
    });
  });
});

/** Runs `work` and interrupts it after a while. */
async function stopped(
  afterMs: number,
  work: (signal: AbortSignal) => Promise<ConvertedImage>,
): Promise<ConvertedImage> {
  const stop = new AbortController();
  let stoppedAt = Infinity;
  const timer = setTimeout(() => {
    stoppedAt = performance.now();
    stop.abort();
  }, afterMs);
  const started = performance.now();
  try {
    return await work(stop.signal);
  } finally {
    clearTimeout(timer);
    const seconds = (performance.now() - Math.min(stoppedAt, started + afterMs)) / 1000;
    assert.ok(seconds < MOST_SECONDS_TO_STOP, `it took ${seconds} s to stop`);
  }
}

/** `part`, so many times. */
function writeRepeated(file: string, part: Buffer, times: number): void {
  const fd = fs.openSync(file, "w");
  for (let i = 0; i < times; i++) fs.writeSync(fd, part);
  fs.closeSync(fd);
}
