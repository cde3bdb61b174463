import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MAX_ANNOUNCED } from "../../../formats/disk-format.ts";
import type { Extent, Need } from "../../../formats/disk-format.ts";
import { qcow2 } from "../../../formats/qcow2/qcow2.ts";
import { randomBytes } from "../../support/base-disk.ts";
import { buildQcow2, guestImage } from "../../support/build-qcow2.ts";
import { answer, parse, readDisk, scanDisk } from "../../support/parse.ts";
import { imageOf, rawOf } from "../../support/qemu-images.ts";
import { requireTools } from "../../support/tools.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

/** Two thirds full; what is there compresses by half or not at all. */
function fullDisk(length: number): Buffer {
  const disk = Buffer.alloc(length);
  const next = randomBytes(21);
  for (let at = 0; at < length; at += 64 * KIB) {
    if (next() % 3 === 0) continue;
    const random = next() % 2 === 0 ? 64 * KIB : 32 * KIB;
    for (let i = 0; i < random; i++) disk[at + i] = next();
  }
  return disk;
}

describe("qcow2 in one pass", { skip: requireTools("qemu-img", "qemu-io") }, () => {
  const disk = fullDisk(24 * MIB);
  for (const clusterSize of ["512", "4k", "64k"]) {
    for (const args of [[], ["-W", "-m", "16"]]) {
      it(`holds nothing of qemu-img convert ${args.join(" ")}, clusters of ${clusterSize}`, () => {
        const image = imageOf(disk, "qcow2", [...args, "-o", `cluster_size=${clusterSize}`]);
        const scanned = scanDisk(qcow2, image, undefined);
        assert.ok(disk.equals(scanned.disk));
        assert.equal(scanned.lateBytes, 0);
      });
    }
  }

  it("holds at most a compressed cluster for each L2 table", () => {
    const image = imageOf(disk, "qcow2", ["-c", "-o", "cluster_size=4k"]);
    const scanned = scanDisk(qcow2, image, undefined);
    assert.ok(disk.equals(scanned.disk));
    assert.ok(scanned.lateBytes <= 12 * 8 * KIB, `${scanned.lateBytes} bytes late`);
  });

  for (const options of ["cluster_size=4k", "extended_l2=on,cluster_size=16k"]) {
    it(`holds nothing of what a guest wrote (${options})`, () => {
      const next = randomBytes(5);
      const number = (below: number): number => ((next() << 16) | (next() << 8) | next()) % below;
      const writes = Array.from(
        { length: 400 },
        () => `write -P ${1 + number(255)} ${number(8100) * 4096} ${(1 + number(20)) * 4096}`,
      );
      const image = guestImage("32M", options, writes);
      const scanned = scanDisk(qcow2, image, undefined);
      assert.ok(rawOf(image, "qcow2").equals(scanned.disk));
      assert.equal(scanned.lateBytes, 0);
    });
  }

  it("asks for each table once, the refcounts too, ascending", () => {
    const image = imageOf(disk, "qcow2", ["-o", "cluster_size=4k"]);
    const { needs } = scanDisk(qcow2, image, undefined);
    const offsets = needs.map((need) => need.offset);
    assert.deepEqual(
      offsets,
      offsets.toSorted((a, b) => a - b),
    );
    assert.equal(new Set(offsets).size, offsets.length);
    const refcountTable = Number(image.readBigUInt64BE(48));
    const firstBlock = Number(image.readBigUInt64BE(refcountTable));
    assert.ok(offsets.includes(refcountTable));
    assert.ok(offsets.includes(firstBlock));
  });
});

describe("qcow2 in one pass, by hand", () => {
  const plain = (host: number): bigint => (1n << 63n) | BigInt(host);

  it("reads an L2 table that two L1 entries share once, for both", () => {
    const clusterSize = 512;
    const image = buildQcow2({
      clusterBits: 9,
      size: 2 * 32 * KIB - 512 * 3,
      entries: (content) =>
        new Map([
          [1, plain(content)],
          [62, plain(content + clusterSize)],
        ]),
      content: Buffer.concat([Buffer.alloc(clusterSize, 1), Buffer.alloc(clusterSize, 2)]),
    });
    image.writeBigUInt64BE(image.readBigUInt64BE(clusterSize), clusterSize + 8);
    const scanned = scanDisk(qcow2, image, undefined);
    assert.equal(scanned.needs.filter((need) => need.offset === 2 * clusterSize).length, 1);
    assert.deepEqual(
      [512, 62 * 512, 65 * 512].map((at) => scanned.disk[at]),
      [1, 2, 1],
    );
    assert.ok(Buffer.from(readDisk(qcow2, image)).equals(scanned.disk));
  });

  it("announces no more extents at once than allowed", () => {
    const clusters = 65536;
    const image = buildQcow2({
      clusterBits: 21,
      size: clusters * 2 * MIB,
      entries: () =>
        new Map(Array.from({ length: clusters }, (_, i) => [i, i % 2 === 0 ? 1n : plain(2 * MIB * (i + 2))])),
    });
    let count = 0;
    let next = 0;
    for (const extents of announced(parse(image, qcow2.open(undefined)).scan(), image)) {
      assert.ok(extents.length <= MAX_ANNOUNCED);
      for (const extent of extents) {
        assert.equal(extent.offset, next);
        next = extent.offset + extent.length;
      }
      count += extents.length;
    }
    assert.equal(count, clusters);
    assert.equal(next, clusters * 2 * MIB);
  });

  it("asks for refcounts that lie between L2 tables in their turn", () => {
    const image = buildQcow2({
      clusterBits: 9,
      size: 64 * KIB,
      entries: (content) => new Map([[0, plain(content + 512)]]),
      content: Buffer.alloc(4 * 512),
    });
    // Cluster 0: header, 1: L1, 2: L2, 3: refcount table, 4: data, 5: refcount block, 6: L2
    image.writeBigUInt64BE(3n * 512n, 48);
    image.writeUInt32BE(1, 56);
    image.writeBigUInt64BE(5n * 512n, 3 * 512);
    image.writeBigUInt64BE(6n * 512n, 512 + 8);
    const { needs, lateBytes } = scanDisk(qcow2, image, undefined);
    assert.deepEqual(
      needs.map((need) => need.offset / 512),
      [1, 2, 3, 5, 6],
    );
    assert.equal(lateBytes, 0);
  });

  it("passes wrong refcounts by", () => {
    const entries = (content: number): Map<number, bigint> => new Map([[0, plain(content)]]);
    const image = buildQcow2({ entries, content: Buffer.alloc(65536, 7) });
    for (const [offset, clusters] of [
      [65536, 1],
      [0, 1],
      [100, 1],
      [2 ** 40, 1],
      [131072, 128],
    ] as const) {
      image.writeBigUInt64BE(BigInt(offset), 48);
      image.writeUInt32BE(clusters, 56);
      assert.ok(
        scanDisk(qcow2, image)
          .disk.subarray(0, 65536)
          .every((byte) => byte === 7),
      );
    }
  });

  it("finds an L2 table too far away to sort", () => {
    const image = buildQcow2({ clusterBits: 9, size: 2 ** 37 });
    image.writeBigUInt64BE(2n ** 52n, 512);
    assert.throws(() => scanDisk(qcow2, image, undefined), { code: "FORMAT_OUT_OF_BOUNDS" });
  });

  function* announced(
    scan: Generator<Need | readonly Extent[], unknown, Uint8Array | undefined>,
    image: Uint8Array,
  ): Generator<readonly Extent[]> {
    let step = scan.next();
    while (step.done !== true) {
      if ("offset" in step.value) step = scan.next(answer(image, step.value));
      else {
        yield step.value;
        step = scan.next();
      }
    }
  }
});
