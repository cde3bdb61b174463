import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { DiskFormat } from "../../../formats/disk-format.ts";
import { FormatError } from "../../../formats/errors.ts";
import { raw } from "../../../formats/raw.ts";
import { qcow2 } from "../../../formats/qcow2/qcow2.ts";
import { MAX_HELD_BYTES } from "../../../importer/engine/hold.ts";
import type { Spill } from "../../../importer/engine/hold.ts";
import { StreamPour } from "../../../importer/engine/pour-stream.ts";
import { Slab, SLOT_LENGTH } from "../../../importer/engine/slab.ts";
import { memoryDisk } from "../../support/memory-pool.ts";
import { streamOf } from "../../support/streams.ts";

const MIB = 1024 * 1024;

/** A disk whose every 4 KiB tell where they belong. */
function numbered(length: number): Buffer {
  const disk = Buffer.alloc(length);
  for (let at = 0; at < length; at += 4096) disk.writeUInt32LE(at / 4096 + 1, at);
  for (let at = 2048; at < length; at += 4096) disk.writeUInt32LE((at * 2_654_435_761) >>> 0, at);
  return disk;
}

interface Poured {
  disk: Buffer;
  outcome: string;
  spilled: number;
}

async function pour(
  format: DiskFormat,
  file: Uint8Array,
  spill?: Spill,
  pieces?: (i: number) => number,
  delay = 3,
): Promise<Poured> {
  const slab = new Slab(6);
  const stream = new StreamPour(streamOf(file, pieces), slab, () => {
    if (spill === undefined) throw new Error("no place to spill");
    return spill;
  });
  const image = await stream.drive(format.open(undefined));
  const target = memoryDisk(slab.memory, delay);
  const outcome = await stream.pour(image, target.outlet);
  const size = await stream.finish();
  return { disk: target.bytes(size), outcome, spilled: stream.spilledBytes };
}

class MemorySpill implements Spill {
  readonly bytes = Buffer.alloc(128 * MIB);

  write(bytes: Uint8Array, offset: number): void {
    this.bytes.set(bytes, offset);
  }

  read(into: Uint8Array, offset: number): void {
    into.set(this.bytes.subarray(offset, offset + into.length));
  }

  close(): void {
    // Memory goes by itself.
  }
}

describe("StreamPour", () => {
  for (const length of [0, 1, SLOT_LENGTH, SLOT_LENGTH + 1, 9 * SLOT_LENGTH + 777, 40 * SLOT_LENGTH]) {
    it(`pours a raw stream of ${length} bytes and holds nothing`, async () => {
      const file = numbered(Math.ceil(length / 4096) * 4096).subarray(0, length);
      const { disk, outcome, spilled } = await pour(raw, file, undefined, (i) => 1 + ((i * 7919) % 300_000));
      assert.equal(outcome, "placed");
      assert.equal(spilled, 0);
      assert.equal(disk.length, Math.ceil(length / 512) * 512);
      assert.ok(disk.subarray(0, length).equals(file));
    });
  }

  it("sends no job for a megabyte of zeros", async () => {
    const file = Buffer.alloc(5 * MIB);
    file.fill(1, 2 * MIB, 3 * MIB);
    file.fill(1, 4 * MIB + 4096, 4 * MIB + 8192);
    const slab = new Slab(6);
    const stream = new StreamPour(streamOf(file), slab, () => assert.fail("nothing is to be spilled"));
    const image = await stream.drive(raw.open(undefined));
    const target = memoryDisk(slab.memory);
    await stream.pour(image, target.outlet);
    assert.ok(target.bytes(file.length).equals(file));
    assert.equal(target.jobs.length, 2);
    assert.deepEqual(
      target.zeros.map(([offset, length]) => [offset / MIB, length / MIB]),
      [
        [0, 1],
        [1, 1],
        [3, 1],
      ],
    );
  });

  it("places clusters in whatever order the tables name them", async () => {
    const { file, disk } = shuffledQcow2(64, "tables first");
    const poured = await pour(qcow2, file);
    assert.ok(poured.disk.equals(disk));
    assert.equal(poured.spilled, 0);
  });

  it("holds data that comes before its table, up to the bound", async () => {
    const clusters = Math.floor(MAX_HELD_BYTES / 65_536) - 80;
    const { file, disk } = shuffledQcow2(clusters, "tables last");
    const poured = await pour(qcow2, file);
    assert.ok(poured.disk.equals(disk));
    assert.equal(poured.outcome, "placed");
  });

  it("spills what is beyond the bound and converts it from there", async () => {
    const clusters = Math.floor(MAX_HELD_BYTES / 65_536) + 200;
    const { file, disk } = shuffledQcow2(clusters, "tables last");
    const poured = await pour(qcow2, file, new MemorySpill());
    assert.equal(poured.outcome, "spilled");
    assert.ok(poured.spilled > 0);
    assert.ok(poured.disk.equals(disk));
    await assert.rejects(pour(qcow2, file), /no place to spill/);
  });

  it("says that a stream which ends inside its data is truncated", async () => {
    const { file } = shuffledQcow2(64, "tables first");
    for (const length of [file.length - 1, file.length - 70_000, 5 * 65_536 + 1]) {
      await assert.rejects(
        pour(qcow2, file.subarray(0, length)),
        (error) => error instanceof FormatError && (error.code === "FORMAT_CORRUPT" || error.code === "FORMAT_INVALID"),
      );
    }
  });

  it("refuses an image that refers to bytes which have gone by", async () => {
    const { file } = shuffledQcow2(600, "tables first");
    // The last cluster of the disk points at the first cluster's place: long written when its turn comes.
    const second = secondTable(file);
    await assert.rejects(
      pour(qcow2, second, undefined, undefined, 0),
      (error) => error instanceof FormatError && /gone by/.test(error.message),
    );
  });
});

/** A qcow2 v2 of `clusters` plain clusters of 64 KiB, all allocated, at shuffled places. */
function shuffledQcow2(clusters: number, order: "tables first" | "tables last"): { file: Buffer; disk: Buffer } {
  const size = 65_536;
  const disk = numbered(clusters * size);
  // Cluster 0: header. Then L1, L2 and data, or data, L1 and L2.
  const [l1, l2, data] = order === "tables first" ? [1, 2, 3] : [1 + clusters, 2 + clusters, 1];
  const file = Buffer.alloc((clusters + 3) * size);
  file.write("QFI\xfb", 0, "latin1");
  file.writeUInt32BE(2, 4);
  file.writeUInt32BE(16, 20);
  file.writeBigUInt64BE(BigInt(disk.length), 24);
  file.writeUInt32BE(1, 36);
  file.writeBigUInt64BE(BigInt(l1 * size), 40);
  file.writeBigUInt64BE((1n << 63n) | BigInt(l2 * size), l1 * size);
  for (let i = 0; i < clusters; i++) {
    const place = data + ((i * 17) % clusters);
    file.writeBigUInt64BE((1n << 63n) | BigInt(place * size), l2 * size + 8 * i);
    disk.copy(file, place * size, i * size, (i + 1) * size);
  }
  return { file, disk };
}

/** Adds a second L2 table at the end of the file that names the first data cluster again. */
function secondTable(file: Buffer): Buffer {
  const longer = Buffer.concat([file, Buffer.alloc(65_536)]);
  const size = 8192 * 65_536 + 65_536;
  longer.writeBigUInt64BE(BigInt(size), 24);
  longer.writeUInt32BE(2, 36);
  longer.writeBigUInt64BE((1n << 63n) | BigInt(file.length), 65_536 + 8);
  longer.writeBigUInt64BE((1n << 63n) | BigInt(3 * 65_536), file.length);
  return longer;
}
