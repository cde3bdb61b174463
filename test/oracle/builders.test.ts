/**
 * What qemu-img cannot write, and the builders of test/support can: other readers (qemu-img, 7-Zip, GNU tar, zstd) find in
 * each the disk it was built from, and so does decant, as a process, from a path and from standard input.
 *
 * So a builder that has the specification wrong fails here, and does not teach its error to the parsers' tests.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import zlib from "node:zlib";
import type { ConvertResult } from "../../cmd/convert.ts";
import { baseDisk } from "../support/base-disk.ts";
import { buildOva } from "../support/build-ova.ts";
import { buildQcow2 } from "../support/build-qcow2.ts";
import { buildTar, longName, oldGnuSparse, paxEntry } from "../support/build-tar.ts";
import type { Range } from "../support/build-tar.ts";
import { buildVdi } from "../support/build-vdi.ts";
import { buildDynamicVhd } from "../support/build-vhd.ts";
import { BAT, buildVhdx, PAYLOAD, writeLog } from "../support/build-vhdx.ts";
import { buildStreamOptimized } from "../support/build-vmdk.ts";
import { rawZstdFrame, skippableFrame } from "../support/build-zstd.ts";
import { rawOf } from "../support/qemu-images.ts";
import { runDecant } from "../support/run-decant.ts";
import { requireTools } from "../support/tools.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

const skip = requireTools("qemu-img", "7zz", "tar", "zstd");
const disk = baseDisk(4 * MIB);

/** Another reader's view of an image that lies at `file`; may write beside it. */
type Reader = (file: string) => Buffer;

interface Built {
  readonly name: string;
  readonly image: Uint8Array;
  readonly format: string;
  readonly wrappers?: readonly string[];
  /** By the name of the tool. */
  readonly readers: Readonly<Record<string, Reader>>;
}

const builts: readonly Built[] = [
  {
    name: "vmdk, the grain directory's place in the footer",
    image: buildStreamOptimized(disk),
    format: "vmdk",
    readers: { "qemu-img": byQemu("vmdk"), "7zz": by7Zip("VMDK") },
  },
  {
    name: "vmdk, grains of each table last to first, padding at the end",
    image: buildStreamOptimized(disk, { reversed: true, padding: 2 * KIB }),
    format: "vmdk",
    // 7-Zip looks for the footer at the very end.
    readers: { "7zz": by7Zip("VMDK", buildStreamOptimized(disk, { reversed: true })) },
  },
  {
    name: "vmdk, grains of 4 KiB, the directory's place in the header",
    image: buildStreamOptimized(disk, { grainSize: 8, directory: "header" }),
    format: "vmdk",
    readers: { "qemu-img": byQemu("vmdk"), "7zz": by7Zip("VMDK") },
  },
  {
    name: "vhdx, sectors of 4096 bytes",
    image: buildVhdx({ disk, logicalSectorSize: 4096 }),
    format: "vhdx",
    // qemu-img 7.2 refuses it: "Operation not supported".
    readers: { "7zz": by7Zip("VHDX") },
  },
  {
    name: "vhdx, blocks in descending order",
    image: buildVhdx({ disk, reversed: true }),
    format: "vhdx",
    readers: { "qemu-img": byQemu("vhdx"), "7zz": by7Zip("VHDX") },
  },
  {
    name: "vhdx, two log entries: zeros over what is old, then the table and 4 KiB of payload",
    image: vhdxWithLog(),
    format: "vhdx",
    readers: { "qemu-img": byQemuAfterReplay },
  },
  {
    name: "vpc, dynamic, blocks of 512 KiB in descending order",
    image: descendingVhd(),
    format: "vpc",
    readers: { "qemu-img": byQemu("vpc"), "7zz": by7Zip("VHD") },
  },
  {
    name: "vdi, blocks in descending order, others absent and zero",
    image: descendingVdi(),
    format: "vdi",
    readers: { "qemu-img": byQemu("vdi"), "7zz": by7Zip("VDI") },
  },
  {
    name: "qcow2, clusters in descending order, some compressed, some zero",
    image: descendingQcow2(),
    format: "qcow2",
    readers: { "qemu-img": byQemu("qcow2"), "7zz": by7Zip("QCOW") },
  },
  {
    name: "tar, old GNU sparse, the map in the header",
    image: tarOf(oldGnuSparse("disk.raw", disk, [...rangesOf(MIB), [disk.length, 0]])),
    format: "raw",
    wrappers: ["tar"],
    readers: { tar: byTar("disk.raw") },
  },
  {
    name: "tar, old GNU sparse, the map in many blocks, a long name",
    image: Buffer.concat([
      buildTar([longName(`${"long-".repeat(40)}.raw`)], false),
      tarOf(oldGnuSparse("cut", disk, [...rangesOf(4 * KIB), [disk.length, 0]])),
    ]),
    format: "raw",
    wrappers: ["tar"],
    readers: { tar: byTar(`${"long-".repeat(40)}.raw`) },
  },
  {
    name: "tar, pax, the size in the extended header only",
    image: buildTar([paxEntry([["size", String(disk.length)]]), { name: "disk.raw", content: disk, size: 0 }]),
    format: "raw",
    wrappers: ["tar"],
    readers: { tar: byTar("disk.raw"), "7zz": by7Zip("tar") },
  },
  {
    name: "ova, gzip members, a manifest before the disk",
    image: buildOva({
      disks: [{ name: "disk.vmdk", content: buildStreamOptimized(disk), capacity: disk.length }],
      manifest: "sha256",
      gzip: true,
      order: ["ovf", "mf", "disks"],
    }),
    format: "vmdk",
    wrappers: ["tar", "gzip"],
    readers: { "tar and qemu-img": (file) => rawOf(zlib.gunzipSync(byTar("disk.vmdk")(file)), "vmdk") },
  },
  {
    name: "zstd, skippable frames first, between and last, a short first block",
    image: Buffer.concat([
      skippableFrame(Buffer.from("skip")),
      rawZstdFrame(disk.subarray(0, MIB), { firstBlock: 100 }),
      skippableFrame(Buffer.alloc(300 * KIB, 0x28)),
      rawZstdFrame(disk.subarray(MIB), { windowDescriptor: 0x50 }),
      skippableFrame(Buffer.alloc(0)),
    ]),
    format: "raw",
    wrappers: ["zstd"],
    readers: { zstd: (file) => output("zstd", ["-dcq", file]) },
  },
];

describe("what the builders build is read by others and by decant", { skip }, () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(path.join(tmpdir(), "decant-builders-"));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  for (const { name, image, format, wrappers = [], readers } of builts) {
    describe(name, () => {
      for (const [tool, read] of Object.entries(readers)) {
        it(`by ${tool}`, () => {
          const file = path.join(folder, "image");
          writeFileSync(file, image);
          assert.ok(read(file).equals(disk));
        });
      }
      for (const source of ["a path", "standard input"]) {
        it(`by decant from ${source}`, async () => {
          const file = path.join(folder, "image");
          const target = path.join(folder, "target.raw");
          writeFileSync(file, image);
          const fromInput = source === "standard input";
          const args = ["convert", "--json", "--force", fromInput ? "-" : file, target];
          const { status, stdout } = await runDecant(args, fromInput ? { input: image } : {});
          assert.equal(status, 0, stdout);
          const result = JSON.parse(stdout) as ConvertResult;
          assert.deepEqual([result.format, result.wrappers, result.spilled], [format, wrappers, false]);
          assert.ok(readFileSync(target).equals(disk));
          assert.ok(readFileSync(file).equals(image), "the source is as it was");
        });
      }
    });
  }
});

function byQemu(format: string): Reader {
  return (file) => rawOf(readFileSync(file), format);
}

/** qemu-img replays a log into the file itself. */
function byQemuAfterReplay(file: string): Buffer {
  output("qemu-img", ["check", "-q", "-r", "all", "-f", "vhdx", file]);
  return byQemu("vhdx")(file);
}

/** @param instead what to read in place of the image, where 7-Zip is stricter */
function by7Zip(type: string, instead?: Uint8Array): Reader {
  return (file) => {
    if (instead !== undefined) writeFileSync(file, instead);
    return output("7zz", ["e", "-so", `-t${type}`, file]);
  };
}

function byTar(member: string): Reader {
  return (file) => {
    output("tar", ["-xf", file, "-C", path.dirname(file), member]);
    return readFileSync(path.join(path.dirname(file), member));
  };
}

function output(tool: string, args: readonly string[]): Buffer {
  return execFileSync(tool, args, { maxBuffer: 64 * MIB, stdio: ["ignore", "pipe", "ignore"] });
}

function tarOf(member: Uint8Array): Buffer {
  return Buffer.concat([member, Buffer.alloc(1024)]);
}

/** The parts of the disk that are not zeros, in steps of `step` bytes. */
function rangesOf(step: number): Range[] {
  return starts(step)
    .filter((at) => !isZero(at, step))
    .map((at) => [at, step]);
}

function starts(step: number): number[] {
  return Array.from({ length: disk.length / step }, (_, i) => i * step);
}

function isZero(at: number, length: number): boolean {
  return disk.subarray(at, at + length).every((byte) => byte === 0);
}

function vhdxWithLog(): Buffer {
  const file = buildVhdx({ disk });
  const table = Buffer.from(file.subarray(BAT, BAT + 4 * KIB));
  const payload = Buffer.from(file.subarray(PAYLOAD, PAYLOAD + 4 * KIB));
  file.fill(0xee, BAT, BAT + 8 * KIB);
  file.fill(0xee, PAYLOAD, PAYLOAD + 4 * KIB);
  const first = writeLog(file, [
    { position: 0, sequenceNumber: 5n, changes: [{ offset: BAT + 4 * KIB, zeros: 4 * KIB }] },
  ]);
  const changes = [
    { offset: BAT, bytes: table },
    { offset: PAYLOAD, bytes: payload },
  ];
  writeLog(file, [{ position: first, sequenceNumber: 6n, tail: 0, changes }]);
  return file;
}

function descendingVhd(): Buffer {
  const blockSize = 512 * KIB;
  const present = starts(blockSize).filter((at) => !isZero(at, blockSize));
  present.reverse();
  return buildDynamicVhd({
    currentSize: disk.length,
    blockSize,
    table: starts(blockSize).map((at) => (present.includes(at) ? present.indexOf(at) : undefined)),
    blocks: present.map((at) => disk.subarray(at, at + blockSize)),
  });
}

function descendingVdi(): Buffer {
  const absent = 0xffffffff;
  const zero = 0xfffffffe;
  const present = starts(MIB).filter((at) => !isZero(at, MIB));
  present.reverse();
  return buildVdi({
    virtualSize: disk.length,
    map: starts(MIB).map((at, i) => (present.includes(at) ? present.indexOf(at) : i % 2 === 0 ? absent : zero)),
    blocks: present.map((at) => disk.subarray(at, at + MIB)),
  });
}

/** Every third cluster compressed; the others plain; zero clusters as such. */
function descendingQcow2(): Buffer {
  const cluster = 64 * KIB;
  const pieces: {
    readonly at: number;
    readonly bytes: Buffer;
    readonly compressed: boolean;
    readonly place: number;
  }[] = [];
  let end = 0;
  for (const [i, at] of starts(cluster).reverse().entries()) {
    if (isZero(at, cluster)) continue;
    const content = disk.subarray(at, at + cluster);
    const deflated = zlib.deflateRawSync(content, { windowBits: 12 });
    const compressed = i % 3 === 0 && deflated.length < cluster;
    const bytes = compressed ? deflated : content;
    const place = compressed ? end : Math.ceil(end / cluster) * cluster;
    pieces.push({ at, bytes, compressed, place });
    end = place + bytes.length;
  }
  const content = Buffer.alloc(Math.ceil(end / cluster) * cluster);
  for (const { bytes, place } of pieces) content.set(bytes, place);
  const image = buildQcow2({
    size: disk.length,
    // An empty refcount table at the end: qemu-img wants one, and then does not read it.
    content: Buffer.concat([content, Buffer.alloc(cluster)]),
    entries: (contentOffset) =>
      new Map(
        starts(cluster).map((at) => {
          const piece = pieces.find((candidate) => candidate.at === at);
          if (piece === undefined) return [at / cluster, 1n]; // reads as zeros
          const offset = contentOffset + piece.place;
          if (!piece.compressed) return [at / cluster, (1n << 63n) | BigInt(offset)];
          const sectors = Math.floor((offset + piece.bytes.length - 1) / 512) - Math.floor(offset / 512);
          return [at / cluster, (1n << 62n) | (BigInt(sectors) << 54n) | BigInt(offset)];
        }),
      ),
  });
  image.writeBigUInt64BE(BigInt(image.length - cluster), 48);
  image.writeUInt32BE(1, 56);
  return image;
}
