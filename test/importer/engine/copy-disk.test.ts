import assert from "node:assert/strict";
import fs from "node:fs";
import { describe, it } from "node:test";
import zlib from "node:zlib";
import type { DiskImage, Extent, Need, Parsing } from "../../../formats/disk-format.ts";
import { FormatError } from "../../../formats/errors.ts";
import { copyDisk } from "../../../importer/engine/copy-disk.ts";
import { diskOutlet } from "../../../importer/engine/disk-outlet.ts";
import { openJobPool } from "../../../importer/engine/job-pool.ts";
import { MAX_BATCH } from "../../../importer/engine/planner.ts";
import { ZeroRanges } from "../../../importer/engine/zero-ranges.ts";
import { openUnnamed } from "../../../importer/temporary-file.ts";
import { openRandomAccess } from "../../../importer/random-access.ts";
import { baseDisk } from "../../support/base-disk.ts";
import { lateAccess } from "../../support/late-access.ts";
import { withJobPlaces } from "../../support/job-places.ts";
import { memoryDisk } from "../../support/memory-pool.ts";
import { recordingTarget } from "../../support/recording-target.ts";
import { memoryFolder } from "../../support/temporary-folder.ts";

const KIB = 1024;

/** An image that answers with `answer(offset)`, and asks for its first bytes each time. */
function fakeImage(virtualSize: number, answer: (offset: number) => readonly Extent[]): DiskImage {
  return {
    format: "qcow2",
    virtualSize,
    features: [],
    warnings: [],
    *extents(offset): Parsing<readonly Extent[]> {
      yield { offset: 0, length: 4 };
      return answer(offset);
    },
    scan(): Generator<Need | readonly Extent[], { virtualSize: number }, Uint8Array | undefined> {
      throw new Error("not a stream");
    },
  };
}

function plainExtent(offset: number, length: number, hostOffset: number): Extent {
  return { kind: "data", offset, length, stored: { encoding: "plain", offset: hostOffset, length } };
}

/** Copies `image` over a target full of 0xee; returns what is there afterwards. */
function copy(image: DiskImage, bytes: Uint8Array, threads: number): Promise<Buffer> {
  const size = image.virtualSize ?? 0;
  return withJobPlaces(bytes, { startsZeroed: false, target: Buffer.alloc(size, 0xee) }, async (places) => {
    const { file, spec, target } = places;
    const pool = openJobPool(spec, threads);
    try {
      const zeroing = recordingTarget({ size });
      const zeros = new ZeroRanges(zeroing);
      const outlet = diskOutlet(zeroing, pool, zeros);
      await copyDisk(image, file, outlet);
      await zeros.apply();
      // What the target's own means did is laid over what threads wrote.
      const disk = target();
      for (const [, offset, length] of zeroing.calls) zeroing.disk.copy(disk, offset, offset, offset + length);
      return disk;
    } finally {
      await pool.close();
    }
  });
}

describe("copyDisk", () => {
  it("copies every kind of extent to its place", async () => {
    const disk = Buffer.alloc(512 * KIB);
    baseDisk(64 * KIB).copy(disk, 0);
    baseDisk(64 * KIB, 9).copy(disk, 128 * KIB);
    disk.write("from the log", 256 * KIB);
    const packed = zlib.deflateRawSync(disk.subarray(128 * KIB, 192 * KIB));
    const file = Buffer.concat([Buffer.alloc(4096, 0x77), packed, disk.subarray(0, 64 * KIB)]);
    const stored = {
      encoding: "deflate",
      offset: 4096,
      length: packed.length,
      decodedLength: 64 * KIB,
      skip: 0,
    } as const;
    const inline = Uint8Array.from(disk.subarray(256 * KIB, 260 * KIB));
    const answers: Readonly<Record<number, readonly Extent[]>> = {
      0: [plainExtent(0, 64 * KIB, 4096 + packed.length), { kind: "hole", offset: 64 * KIB, length: 64 * KIB }],
      [128 * KIB]: [{ kind: "data", offset: 128 * KIB, length: 64 * KIB, stored }],
      [192 * KIB]: [
        { kind: "zero", offset: 192 * KIB, length: 64 * KIB, hostOffset: 0 },
        { kind: "data", offset: 256 * KIB, length: 4 * KIB, stored: { encoding: "inline", bytes: inline } },
        { kind: "hole", offset: 260 * KIB, length: 252 * KIB },
      ],
    };
    const image = fakeImage(disk.length, (offset) => answers[offset] ?? []);
    for (const threads of [1, 2]) assert.ok((await copy(image, file, threads)).equals(disk));
  });

  it("copies more extents than one batch holds", async () => {
    const count = MAX_BATCH + 3000;
    const file = Buffer.alloc(count * 512);
    for (let i = 0; i < count; i++) file.writeUInt32LE(i + 1, i * 512);
    const disk = Buffer.alloc(file.length);
    // Neighbours on the disk lie far apart in the file.
    const place = (sector: number): number => ((sector * 7) % count) * 512;
    for (let i = 0; i < count; i++) file.copy(disk, i * 512, place(i), place(i) + 512);
    const image = fakeImage(disk.length, (offset) => {
      const first = offset / 512;
      return Array.from({ length: Math.min(8192, count - first) }, (_, i) => {
        return plainExtent(offset + i * 512, 512, place(first + i));
      });
    });
    assert.ok((await copy(image, file, 1)).equals(disk));
  });

  it("does not read the holes of the image file itself", async () => {
    const fd = openUnnamed(memoryFolder());
    try {
      const size = 256 * 1024 * KIB;
      fs.ftruncateSync(fd, size);
      fs.writeSync(fd, Buffer.alloc(4096, 1), 0, 4096, 0);
      fs.writeSync(fd, Buffer.alloc(4096, 2), 0, 4096, size / 2);
      const file = openRandomAccess({ fd, name: "sparse", size });
      const image = fakeImage(size, () => [plainExtent(0, size, 0)]);
      await withJobPlaces(new Uint8Array(0), {}, async ({ spec }) => {
        const pool = openJobPool({ ...spec, read: file.spec }, 1);
        const target = recordingTarget({ startsZeroed: true });
        await copyDisk(image, file, diskOutlet(target, pool, new ZeroRanges(target)));
        const { bytesRead, bytesWritten } = pool.totals();
        await pool.close();
        assert.equal(bytesWritten, 8192);
        assert.ok(bytesRead <= 256 * KIB, `read ${bytesRead}`);
      });
    } finally {
      fs.closeSync(fd);
    }
  });

  it("fetches data over the network before it knows where all of it lies", async () => {
    const GIB = 1024 ** 3;
    const target = memoryDisk(new SharedArrayBuffer(KIB));
    const jobsBefore: number[] = [];
    const image = fakeImage(GIB, (offset) => {
      jobsBefore.push(target.jobs.length);
      return [plainExtent(offset, KIB, 0), { kind: "hole", offset: offset + KIB, length: GIB / 4 - KIB }];
    });
    await copyDisk(image, lateAccess(new Uint8Array(KIB), 1), target.outlet);
    assert.deepEqual(jobsBefore, [0, 1, 1, 1]);
  });

  it("stops at the first fault of an extent", async () => {
    const image = fakeImage(64 * KIB, () => [plainExtent(0, 64 * KIB, 8192)]);
    for (const threads of [1, 2]) {
      await assert.rejects(
        copy(image, Buffer.alloc(10_000, 1), threads),
        (error) => error instanceof FormatError && error.code === "FORMAT_CORRUPT",
      );
    }
  });

  it("copies nothing of a disk of no bytes", async () => {
    const image = fakeImage(0, () => []);
    assert.equal((await copy(image, Buffer.alloc(100), 1)).length, 0);
  });
});
