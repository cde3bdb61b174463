import assert from "node:assert/strict";
import { describe, it } from "node:test";
import zlib from "node:zlib";
import type { Extent } from "../../../formats/disk-format.ts";
import { qcow2 } from "../../../formats/qcow2/qcow2.ts";
import { baseDisk, randomBytes } from "../../support/base-disk.ts";
import { buildQcow2, changedImage, extension, guestImage, qemuImg, qemuIo } from "../../support/build-qcow2.ts";
import { allExtents, answer, extentBytes, openImage, parse, readDisk, scanDisk } from "../../support/parse.ts";
import { imageOf, mapOf, rawOf } from "../../support/qemu-images.ts";
import type { MapEntry } from "../../support/qemu-images.ts";
import { requireTools } from "../../support/tools.ts";

const KIB = 1024;
const MIB = 1024 * KIB;
const skip = requireTools("qemu-img", "qemu-io");

describe("qcow2 from qemu-img convert", { skip }, () => {
  const disk = baseDisk(4 * MIB);
  const cases: readonly (readonly [name: string, args: readonly string[]])[] = [
    ["Q21: version 2", ["-o", "compat=0.10"]],
    ["version 2, compressed", ["-c", "-o", "compat=0.10"]],
    ["Q02: version 3, compressed", ["-c"]],
    ["Q01: zstd", ["-c", "-o", "compression_type=zstd"]],
    ["clusters of 512 bytes", ["-o", "cluster_size=512"]],
    ["clusters of 4 KiB", ["-o", "cluster_size=4k"]],
    ["clusters of 2 MiB", ["-o", "cluster_size=2M"]],
    ["Q04: compressed clusters of 512 bytes", ["-c", "-o", "cluster_size=512"]],
    ["Q04: compressed clusters of 4 KiB", ["-c", "-o", "cluster_size=4k"]],
    ["Q04: compressed clusters of 2 MiB", ["-c", "-o", "cluster_size=2M"]],
    ["zstd, clusters of 512 bytes", ["-c", "-o", "cluster_size=512,compression_type=zstd"]],
    ["zstd, clusters of 2 MiB", ["-c", "-o", "cluster_size=2M,compression_type=zstd"]],
    ["extended L2", ["-o", "extended_l2=on,cluster_size=128k"]],
    ["extended L2, clusters of 16 KiB", ["-o", "extended_l2=on,cluster_size=16k"]],
    ["extended L2, compressed", ["-c", "-o", "extended_l2=on"]],
    ["refcounts of 1 bit", ["-o", "refcount_bits=1"]],
    ["refcounts of 64 bits", ["-o", "refcount_bits=64"]],
    ["lazy refcounts", ["-o", "lazy_refcounts=on"]],
    ["preallocated metadata", ["-o", "preallocation=metadata"]],
    ["preallocated metadata, extended L2", ["-o", "preallocation=metadata,extended_l2=on"]],
    ["preallocated metadata, version 2", ["-o", "preallocation=metadata,compat=0.10"]],
    ["preallocated by falloc", ["-o", "preallocation=falloc"]],
    ["written out of order", ["-W", "-m", "16"]],
  ];
  for (const [name, args] of cases) {
    it(`reads ${name}`, () => assertReads(imageOf(disk, "qcow2", args), disk));
  }

  for (const length of [512, 64 * KIB + 512, 3 * MIB + 1536]) {
    for (const args of [[], ["-c"]]) {
      it(`reads a disk of ${length} bytes ${args.join()} whose last cluster is used in part`, () => {
        const odd = baseDisk(Math.max(length, 4096)).subarray(-length);
        assertReads(imageOf(odd, "qcow2", args), odd);
      });
    }
  }

  for (const type of ["zlib", "zstd"]) {
    for (const clusterSize of ["512", "4k", "64k", "2M"]) {
      it(`Q03: reads ${type} clusters of ${clusterSize} that straddle host clusters`, () => {
        const straddling = Buffer.alloc(4 * MIB);
        const next = randomBytes(3);
        for (let at = 0; at < straddling.length; at += 64 * KIB)
          for (let i = 0; i < 40_000; i++) straddling[at + i] = next();
        const image = imageOf(straddling, "qcow2", [
          "-c",
          "-o",
          `cluster_size=${clusterSize},compression_type=${type}`,
        ]);
        assertReads(image, straddling);
        if (clusterSize !== "64k") return;
        const crossing = allExtents(openImage(qcow2, image), image).filter(
          (e) => e.kind === "data" && e.stored.encoding !== "inline" && (e.stored.offset % 65536) + 40_000 > 65536,
        );
        assert.ok(crossing.length > 20, `${crossing.length} clusters straddle`);
      });
    }
  }

  it("reads compressed clusters that the end of the file cuts short", () => {
    let cut = 0;
    for (let i = 1; i <= 4; i++) {
      const small = Buffer.alloc(192 * KIB, "text ");
      for (const at of [0, 64, 128]) baseDisk(4096, i + at).copy(small, at * KIB, 0, 500 + 77 * i);
      const image = imageOf(small, "qcow2", ["-c"]);
      const end = image.findLastIndex((byte) => byte !== 0) + 1;
      if (end < image.length) cut++; // the padding to a sector, which other writers leave out
      assertReads(image.subarray(0, end), small);
    }
    assert.ok(cut > 0);
  });

  it("Q06: reads an empty image whose length is no multiple of 512", () => {
    const image = guestImage("8M", "", []);
    assert.notEqual(image.length % 512, 0);
    assertReads(image, Buffer.alloc(8 * MIB));
  });

  it("Q24: shows preallocated metadata as data that the file holds", () => {
    const image = guestImage("8M", "preallocation=metadata", []);
    const extents = allExtents(openImage(qcow2, image), image);
    assert.deepEqual(
      extents.map((e) => [e.kind, e.length]),
      [["data", 8 * MIB]],
    );
  });
});

describe("qcow2 that a guest wrote", { skip }, () => {
  it("Q09: resolves subclusters", () => {
    const image = guestImage("4M", "extended_l2=on,cluster_size=128k", [
      "write -P 1 0 4k",
      "write -P 2 20k 4k",
      "write -z 64k 4k",
      "write -P 3 1M 8k",
    ]);
    assertReads(image, rawOf(image, "qcow2"));
    const kinds = allExtents(openImage(qcow2, image), image).map((e) => [e.kind, e.offset, e.length]);
    assert.deepEqual(kinds.slice(0, 5), [
      ["data", 0, 4096],
      ["hole", 4096, 16 * KIB],
      ["data", 20 * KIB, 4096],
      ["hole", 24 * KIB, 40 * KIB],
      ["zero", 64 * KIB, 4096],
    ]);
  });

  for (const options of [
    "",
    "compat=0.10",
    "cluster_size=512",
    "cluster_size=4k",
    "cluster_size=2M",
    "extended_l2=on",
    "extended_l2=on,cluster_size=16k",
    "extended_l2=on,cluster_size=2M",
    "compression_type=zstd",
    "compression_type=zstd,extended_l2=on,cluster_size=32k",
    "preallocation=metadata,extended_l2=on",
    "preallocation=metadata",
  ]) {
    it(`reads random writes, zeros, discards and compressed writes with ${options || "the defaults"}`, () => {
      const clusterSize =
        Number(/cluster_size=(\d+)/.exec(options)?.[1] ?? 64) * (/=\d+k|_size=2M/.test(options) ? KIB : 1);
      const unit = options.includes("2M") ? 2 * MIB : clusterSize < 512 ? 64 * KIB : clusterSize;
      const image = guestImage("8M", options, randomCommands(150, 8 * MIB, unit, options.length + 1));
      assertReads(image, rawOf(image, "qcow2"));
    });
  }

  it("reads the active layer and mentions internal snapshots", () => {
    const image = changedImage(guestImage("8M", "cluster_size=4k", ["write -P 1 0 2M"]), (file) => {
      qemuImg("snapshot", "-c", "one", file);
      qemuIo(file, ["write -P 2 1M 512k"]);
      qemuImg("snapshot", "-c", "two", file);
      qemuIo(file, ["write -P 3 0 4k", "write -P 4 6M 4k"]);
    });
    assertReads(image, rawOf(image, "qcow2"));
    assert.ok(openImage(qcow2, image).features.includes("2 internal snapshots (not imported)"));
  });

  for (const [options, larger] of [
    ["cluster_size=512", 40],
    ["cluster_size=4k", 1030],
  ] as const) {
    it(`reads an image that was enlarged, so that its L1 table lies behind its data (${options})`, () => {
      const image = changedImage(guestImage("1M", options, ["write -P 1 0 1M"]), (file) => {
        qemuImg("resize", "-q", file, `${larger}M`);
        qemuIo(file, [`write -P 3 ${larger - 1}M 4k`, "write -P 4 2M 4k"]);
        qemuImg("resize", "-q", "--shrink", file, "3M");
        qemuIo(file, ["write -P 5 2560k 4k"]);
      });
      assert.ok(image.readBigUInt64BE(40) > MIB, "the L1 table moved");
      assertReads(image, rawOf(image, "qcow2"));
    });
  }

  it("Q11: reads an image that was not closed, with a warning", () => {
    const image = guestImage("8M", "lazy_refcounts=on", ["write -P 1 1M 128k", "flush", "abort"]);
    const opened = openImage(qcow2, image);
    assert.deepEqual(
      opened.warnings.map((w) => w.code),
      ["QCOW2_DIRTY"],
    );
    assert.ok(opened.features.includes("lazy refcounts"));
    const expected = Buffer.alloc(8 * MIB).fill(1, MIB, MIB + 128 * KIB);
    assert.ok(expected.equals(readDisk(qcow2, image)));
    assert.ok(expected.equals(scanDisk(qcow2, image).disk));
  });

  it("Q12: reads an image that is marked corrupt, with a warning", () => {
    const disk = baseDisk(MIB);
    const image = imageOf(disk, "qcow2");
    image[79] = 2;
    assert.deepEqual(
      openImage(qcow2, image).warnings.map((w) => w.code),
      ["QCOW2_CORRUPT"],
    );
    assert.ok(disk.equals(readDisk(qcow2, image)));
  });

  it("drops part of a sector at the end as qemu-img does, with a warning", () => {
    const image = imageOf(baseDisk(MIB), "qcow2");
    image.writeBigUInt64BE(700_001n, 24);
    const opened = openImage(qcow2, image);
    assert.equal(opened.virtualSize, 699_904);
    assert.deepEqual(
      opened.warnings.map((w) => w.code),
      ["QCOW2_PARTIAL_SECTOR"],
    );
    assert.ok(rawOf(image, "qcow2").equals(readDisk(qcow2, image)));
  });
});

describe("qcow2 features", () => {
  it("name what inspect shows", () => {
    const bitmaps = extension(0x2385_2875, Buffer.from([0, 0, 0, 1, 0, 0, 0, 0]));
    const image = buildQcow2({
      incompatible: 24n,
      compressionType: 1,
      compatible: 1n,
      clusterBits: 14,
      extensions: bitmaps,
    });
    image.writeUInt32BE(1, 60);
    assert.deepEqual(openImage(qcow2, image).features, [
      "version 3",
      "cluster size 16 KiB",
      "compression zstd",
      "extended L2",
      "lazy refcounts",
      "1 internal snapshot (not imported)",
      "1 persistent bitmap (not imported)",
    ]);
    assert.deepEqual(openImage(qcow2, buildQcow2({ version: 2, clusterBits: 9 })).features, [
      "version 2",
      "cluster size 512 bytes",
      "compression zlib",
    ]);
  });

  it("are probed by the magic alone", () => {
    assert.ok(qcow2.probe(buildQcow2().subarray(0, 65536), undefined));
    assert.ok(!qcow2.probe(new Uint8Array(65536), undefined));
    assert.ok(!qcow2.probe(Buffer.from("QF"), undefined));
  });

  it("Q08: a disk of no bytes has no extents to ask for", () => {
    const image = buildQcow2({ size: 0 });
    assert.equal(readDisk(qcow2, image).length, 0);
    assert.equal(scanDisk(qcow2, image, undefined).disk.length, 0);
  });
});

describe("qcow2 extents", { skip }, () => {
  const disk = baseDisk(4 * MIB);
  const image = imageOf(disk, "qcow2", ["-o", "cluster_size=4k"]);

  it("answer any range, cut to it", () => {
    const next = randomBytes(11);
    const opened = openImage(qcow2, image);
    for (let i = 0; i < 200; i++) {
      const offset = ((next() << 16) | (next() << 8) | next()) % disk.length;
      const length = 1 + (((next() << 8) | next()) % (disk.length - offset));
      let at = offset;
      while (at < offset + length) {
        const asked = offset + length - at;
        const step = opened.extents(at, asked);
        for (const extent of run(step)) {
          assert.equal(extent.offset, at);
          at += extent.length;
        }
      }
      assert.equal(at, offset + length);
    }
  });

  it("ask for each table once in a walk of small steps", () => {
    const opened = openImage(qcow2, image);
    const asked: number[] = [];
    for (let at = 0; at < disk.length; at += 5000) run(opened.extents(at, Math.min(5000, disk.length - at)), asked);
    assert.equal(new Set(asked).size, asked.length);
  });

  it("are re-entrant", () => {
    const opened = openImage(qcow2, image);
    const alone = [0, 1, 2, 3].map((i) => run(openImage(qcow2, image).extents(i * MIB, MIB)));
    const walks = [0, 1, 2, 3].map((i) => opened.extents(i * MIB, MIB));
    const results: (readonly Extent[] | undefined)[] = [undefined, undefined, undefined, undefined];
    const answers: (Uint8Array | undefined)[] = [];
    for (let round = 0; results.includes(undefined); round++) {
      const i = round % 4;
      if (results[i] !== undefined) continue;
      const step = walks[i]?.next(answers[i] as Uint8Array);
      if (step?.done === true) results[i] = step.value;
      else if (step !== undefined)
        answers[i] = image.subarray(step.value.offset, step.value.offset + step.value.length);
    }
    assert.deepEqual(results, alone);
  });

  function run(parsing: ReturnType<ReturnType<typeof openImage>["extents"]>, asked: number[] = []): readonly Extent[] {
    let step = parsing.next();
    while (step.done !== true) {
      asked.push(step.value.offset);
      step = parsing.next(image.subarray(step.value.offset, step.value.offset + step.value.length));
    }
    return step.value;
  }
});

/** At random and in one pass, with and without the file's size known, and with the map that qemu-img prints. */
function assertReads(image: Buffer, disk: Buffer): void {
  assert.ok(qcow2.probe(image, undefined));
  const extents = allExtents(openImage(qcow2, image), image);
  assert.ok(disk.equals(contentOf(extents, image, disk.length)), "at random");
  const stepped = allExtents(openImage(qcow2, image), image, 777_777);
  assert.ok(disk.equals(contentOf(stepped, image, disk.length)), "in steps");
  const once = scanned(image, undefined);
  assert.ok(disk.equals(contentOf(once, image, disk.length)), "in one pass");
  assert.deepEqual(scanned(image, image.length), once);
  assertMap(extents, mapOf(image, "qcow2"));
}

/** The disk that extents describe. Unlike node:zlib, a decoder of clusters stops at the end of a zstd frame. */
function contentOf(extents: readonly Extent[], image: Uint8Array, size: number): Buffer {
  const disk = Buffer.alloc(size);
  for (const extent of extents) {
    if (extent.kind !== "data" || extent.stored.encoding !== "zstd")
      disk.set(extentBytes(extent, image), extent.offset);
    else {
      const { offset, length, skip, decodedLength } = extent.stored;
      const decoded = zlib.zstdDecompressSync(image.subarray(offset, offset + length), {
        finishFlush: zlib.constants.ZSTD_e_continue,
      });
      assert.ok(decoded.length >= decodedLength);
      disk.set(decoded.subarray(skip, skip + extent.length), extent.offset);
    }
  }
  return disk;
}

function scanned(image: Uint8Array, hostSize: number | undefined): Extent[] {
  const scan = parse(image, qcow2.open(hostSize)).scan();
  const extents: Extent[] = [];
  let step = scan.next();
  while (step.done !== true) {
    if ("offset" in step.value) step = scan.next(answer(image, step.value));
    else {
      extents.push(...step.value);
      step = scan.next();
    }
  }
  return extents;
}

/** Asserts that both say of each byte whether it is present, data or zero, and where in the file it lies. */
function assertMap(extents: readonly Extent[], map: readonly MapEntry[]): void {
  const borders = [...new Set([...extents.map((e) => e.offset), ...map.map((e) => e.start)])].sort((a, b) => a - b);
  let i = 0;
  let j = 0;
  for (const at of borders) {
    while (at >= end(extents[i])) i++;
    while (at >= (map[j]?.start ?? 0) + (map[j]?.length ?? 0)) j++;
    const ours = extents[i];
    const theirs = map[j];
    assert.ok(ours !== undefined && theirs !== undefined);
    assert.equal(ours.kind !== "hole", theirs.present, `present at ${at}`);
    assert.equal(ours.kind === "data", theirs.data, `data at ${at}`);
    assert.equal(ours.kind !== "data", theirs.zero, `zero at ${at}`);
    const host =
      ours.kind === "data" ? (ours.stored.encoding === "plain" ? ours.stored.offset : undefined) : ours.hostOffset;
    const theirHost = theirs.offset === undefined ? undefined : theirs.offset + at - theirs.start;
    assert.equal(host === undefined ? undefined : host + at - ours.offset, theirHost, `host offset of ${at}`);
  }
  const last = map.at(-1);
  assert.equal(end(extents.at(-1)), (last?.start ?? 0) + (last?.length ?? 0));
}

function end(extent: Extent | undefined): number {
  return (extent?.offset ?? 0) + (extent?.length ?? 0);
}

/** What a guest does to a disk of `size`, compressed writes in whole clusters included. */
function randomCommands(count: number, size: number, clusterSize: number, seed: number): string[] {
  const next = randomBytes(seed * 7919);
  const number = (below: number): number => ((next() << 16) | (next() << 8) | next()) % below;
  return Array.from({ length: count }, () => {
    const length = (1 + number(48)) * 512;
    const offset = number((size - length) / 512) * 512;
    const cluster = number(size / clusterSize) * clusterSize;
    switch (number(6)) {
      case 0:
        return `write -z ${offset} ${length}`;
      case 1:
        return `discard ${cluster} ${clusterSize}`;
      case 2:
        return `write -z ${number(2) === 0 ? "-u " : ""}${cluster} ${clusterSize}`;
      case 3:
        return `write -c -P ${1 + number(255)} ${cluster} ${clusterSize}`;
      default:
        return `write -P ${1 + number(255)} ${offset} ${length}`;
    }
  });
}
