import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { FormatError } from "../../../formats/errors.ts";
import { vhdx } from "../../../formats/vhdx/vhdx.ts";
import { baseDisk } from "../../support/base-disk.ts";
import * as build from "../../support/build-vhdx.ts";
import { allExtents, openImage, parse, readDisk, scanDisk } from "../../support/parse.ts";
import { imageOf, inTemporaryFolder } from "../../support/qemu-images.ts";
import { requireTools } from "../../support/tools.ts";

const KIB = 1024;
const MIB = 1024 * KIB;
const skip = requireTools("qemu-img");

const disk = baseDisk(4 * MIB);

/** A file whose BAT is zeroed, and the BAT's first page as it was. */
function withoutBat(): { file: Buffer; page: Buffer } {
  const file = build.buildVhdx({ disk });
  const page = Buffer.from(file.subarray(build.BAT, build.BAT + 4096));
  file.fill(0, build.BAT, build.BAT + 4096);
  return { file, page };
}

/** Reads `file` at random, in one pass and as a stream of unknown length; all must agree. */
function replayed(file: Buffer): Uint8Array {
  const before = Buffer.from(file);
  const read = readDisk(vhdx, file);
  assert.equal(Buffer.compare(readDisk(vhdx, file, 70_001), read), 0, "in steps");
  const scanned = scanDisk(vhdx, file);
  assert.equal(Buffer.compare(scanned.disk, read), 0, "in one pass");
  assert.equal(scanned.lateBytes, 0);
  assert.equal(Buffer.compare(scanDisk(vhdx, file, undefined).disk, read), 0, "unknown length");
  assert.equal(Buffer.compare(file, before), 0, "the file is unchanged");
  assert.deepEqual(
    openImage(vhdx, file).warnings.map((w) => w.code),
    ["VHDX_LOG_REPLAYED"],
  );
  return read;
}

/** What qemu-img reads after it has replayed the log of a copy. */
function repairedByQemu(file: Buffer): Buffer {
  return inTemporaryFolder((folder) => {
    writeFileSync(path.join(folder, "image"), file);
    execFileSync("qemu-img", ["check", "-q", "-r", "all", "-f", "vhdx", "image"], { cwd: folder });
    execFileSync("qemu-img", ["convert", "-f", "vhdx", "-O", "raw", "image", "disk.raw"], { cwd: folder });
    return readFileSync(path.join(folder, "disk.raw"));
  });
}

function assertReplaysLikeQemu(file: Buffer, expected: Uint8Array): void {
  assert.equal(Buffer.compare(replayed(file), expected), 0, "as expected");
  if (skip === false) assert.equal(Buffer.compare(repairedByQemu(file), expected), 0, "as qemu-img has it");
}

function fails(code: string, message: RegExp): (error: unknown) => boolean {
  return (error) => error instanceof FormatError && error.code === code && message.test(error.message);
}

describe("vhdx log", () => {
  it("holds the only copy of the BAT (H07)", () => {
    const { file, page } = withoutBat();
    assert.equal(
      readDisk(vhdx, file).some((b) => b !== 0),
      false,
    );
    build.writeLog(file, [{ position: 0, sequenceNumber: 1n, changes: [{ offset: build.BAT, bytes: page }] }]);
    assertReplaysLikeQemu(file, disk);
  });

  it("holds the only copy of the BAT of an image made by qemu-img (H07)", { skip }, () => {
    const file = imageOf(disk, "vhdx");
    const page = Buffer.from(file.subarray(build.BAT, build.BAT + 4096));
    file.fill(0, build.BAT, build.BAT + 4096);
    build.writeLog(file, [{ position: 0, sequenceNumber: 1n, changes: [{ offset: build.BAT, bytes: page }] }]);
    assertReplaysLikeQemu(file, disk);
  });

  it("replays updates in order: the later one wins, whether bytes or zeros", () => {
    const { file, page } = withoutBat();
    const junk = Buffer.alloc(4096, 0xff);
    const next = build.writeLog(file, [
      {
        position: 0,
        sequenceNumber: 7n,
        changes: [
          { offset: build.BAT, bytes: junk },
          { offset: build.BAT, zeros: MIB },
          { offset: build.BAT, bytes: page },
        ],
      },
    ]);
    assertReplaysLikeQemu(file, disk);
    const zeros = [{ offset: build.BAT, zeros: 4096 }];
    build.writeLog(file, [{ position: next, sequenceNumber: 8n, tail: 0, changes: zeros }]);
    assertReplaysLikeQemu(file, new Uint8Array(disk.length));
  });

  it("ends before an entry that is torn", () => {
    const { file, page } = withoutBat();
    const next = build.writeLog(file, [
      { position: 0, sequenceNumber: 3n, changes: [{ offset: build.BAT, bytes: page }] },
    ]);
    const zeros = Buffer.alloc(4096);
    build.writeLog(file, [
      { position: next, sequenceNumber: 4n, tail: 0, changes: [{ offset: build.BAT, bytes: zeros }] },
    ]);
    file[build.LOG + next + 5000] = 1; // in the data sector: only the checksum tells
    assertReplaysLikeQemu(file, disk);
  });

  it("ignores entries of another GUID, and a gap in the sequence numbers", () => {
    const { file, page } = withoutBat();
    const junk = [{ offset: build.BAT, bytes: Buffer.alloc(4096, 0xff) }];
    const next = build.writeLog(file, [
      { position: 0, sequenceNumber: 5n, changes: [{ offset: build.BAT, bytes: page }] },
    ]);
    build.writeLog(file, [
      { position: next, sequenceNumber: 6n, tail: 0, guid: "FFFFFFFF-0000-0000-0000-000000000001", changes: junk },
      { position: 64 * KIB, sequenceNumber: 900n, guid: "FFFFFFFF-0000-0000-0000-000000000001", changes: junk },
      { position: 128 * KIB, sequenceNumber: 4n, changes: junk },
    ]);
    assertReplaysLikeQemu(file, disk);
  });

  it("takes the sequence with the greatest number, wherever it lies", () => {
    const { file, page } = withoutBat();
    build.writeLog(file, [
      { position: 0, sequenceNumber: 10n, changes: [{ offset: build.BAT, bytes: Buffer.alloc(4096, 0xff) }] },
      { position: 512 * KIB, sequenceNumber: 2n ** 40n, changes: [{ offset: build.BAT, bytes: page }] },
    ]);
    assertReplaysLikeQemu(file, disk);
  });

  it("wraps around the end of the ring, between entries and inside one", () => {
    const { file, page } = withoutBat();
    const junk = Buffer.alloc(4096, 0xff);
    const tail = MIB - 16 * KIB;
    const first = build.writeLog(file, [
      { position: tail, sequenceNumber: 20n, changes: [{ offset: build.BAT, bytes: junk }] },
    ]);
    // Descriptors, then one sector of data before the end of the ring and two after it.
    const changes = [
      { offset: build.BAT, zeros: 8192 },
      { offset: build.METADATA + 128 * KIB, bytes: junk },
      { offset: build.METADATA + 132 * KIB, bytes: junk },
      { offset: build.BAT, bytes: page },
    ];
    const second = build.writeLog(file, [{ position: first, sequenceNumber: 21n, tail, changes }]);
    assert.equal(second, 8192, "it wrapped");
    assertReplaysLikeQemu(file, disk);
    // qemu-img takes this last entry for a sequence of its own, since it does not look at the tail.
    build.writeLog(file, [{ position: second, sequenceNumber: 22n, tail, changes: [] }]);
    assert.equal(Buffer.compare(replayed(file), disk), 0);
  });

  it("starts at the tail that the newest entry names: what is older was flushed", () => {
    const { file, page } = withoutBat();
    const flushed = [{ offset: build.PAYLOAD, bytes: Buffer.alloc(4096, 0xee) }];
    const next = build.writeLog(file, [{ position: 0, sequenceNumber: 1n, changes: flushed }]);
    const changes = [{ offset: build.BAT, bytes: page }];
    build.writeLog(file, [{ position: next, sequenceNumber: 2n, tail: next, changes }]);
    assert.equal(Buffer.compare(replayed(file), disk), 0);
  });

  it("takes no sequence whose tail is outside it", () => {
    const { file, page } = withoutBat();
    build.writeLog(file, [
      { position: 0, sequenceNumber: 1n, changes: [{ offset: build.BAT, bytes: page }] },
      { position: 64 * KIB, sequenceNumber: 9n, tail: 128 * KIB, changes: [{ offset: build.BAT, zeros: 4096 }] },
    ]);
    assert.equal(Buffer.compare(replayed(file), disk), 0);
  });

  it("reads more than one sector of descriptors", () => {
    const { file, page } = withoutBat();
    const changes: build.LogChange[] = [];
    for (let i = 0; i < 140; i++)
      changes.push({ offset: build.METADATA + 256 * KIB + i * 4096, bytes: Buffer.alloc(4096, i) });
    changes.push({ offset: build.BAT, bytes: page });
    build.writeLog(file, [{ position: 4096, sequenceNumber: 1n, changes }]);
    // qemu-img calls a log with more than 126 descriptors in an entry invalid.
    assert.equal(Buffer.compare(replayed(file), disk), 0);
  });

  it("stores inline what it changes in payload blocks", () => {
    const file = build.buildVhdx({ disk: new Uint8Array(2 * MIB).fill(1) });
    const expected = new Uint8Array(2 * MIB).fill(1);
    expected.fill(2, 8192, 12288).fill(0, MIB - 4096, MIB + 4096);
    build.writeLog(file, [
      {
        position: 0,
        sequenceNumber: 1n,
        changes: [
          { offset: build.PAYLOAD + 8192, bytes: Buffer.alloc(4096, 2) },
          { offset: build.PAYLOAD + MIB - 4096, zeros: 8192 },
        ],
      },
    ]);
    assertReplaysLikeQemu(file, expected);
    const image = openImage(vhdx, file);
    assert.deepEqual(
      allExtents(image, file).map((e) => [e.kind === "data" ? e.stored.encoding : e.kind, e.offset, e.length]),
      [
        ["plain", 0, 8192],
        ["inline", 8192, 4096],
        ["plain", 12288, MIB - 16384],
        ["zero", MIB - 4096, 8192],
        ["plain", MIB + 4096, MIB - 4096],
      ],
    );
    const [inline] = parse(file, image.extents(9000, 100));
    assert.deepEqual([inline?.offset, inline?.length], [9000, 100]);
  });

  it("replays updates of the region table and of the metadata", () => {
    const file = build.buildVhdx({ disk });
    const changes = [build.REGION_TABLE_1, build.METADATA, build.METADATA_ITEMS].map((offset) => ({
      offset,
      bytes: Buffer.from(file.subarray(offset, offset + 4096)),
    }));
    build.writeLog(file, [{ position: 0, sequenceNumber: 1n, changes }]);
    for (const { offset } of changes) file.fill(0xff, offset, offset + 4096);
    assert.equal(Buffer.compare(replayed(file), disk), 0);
  });

  it("extends the file to the length that the log names: what is missing there is zeros", () => {
    const file = build.buildVhdx({ disk: new Uint8Array(2 * MIB).fill(1) });
    const expected = new Uint8Array(2 * MIB).fill(1, 0, MIB);
    const changes = [{ offset: build.METADATA + 128 * KIB, zeros: 4096 }];
    const cut = Buffer.from(file.subarray(0, file.length - MIB));
    build.writeLog(cut, [{ position: 0, sequenceNumber: 1n, lastFileOffset: file.length, changes }]);
    assert.equal(Buffer.compare(replayed(cut), expected), 0);
    // qemu-img extends the file only to a length that is not a multiple of 1 MiB, and rounds it up.
    build.writeLog(cut, [{ position: 0, sequenceNumber: 1n, lastFileOffset: file.length - 512, changes }]);
    assertReplaysLikeQemu(cut, expected);
  });

  it("refuses a file that is shorter than when its log was written", () => {
    const { file, page } = withoutBat();
    const changes = [{ offset: build.BAT, bytes: page }];
    build.writeLog(file, [{ position: 0, sequenceNumber: 1n, flushedFileOffset: file.length + MIB, changes }]);
    assert.throws(() => openImage(vhdx, file), fails("FORMAT_CORRUPT", /bytes, but had .* when its log was written/));
  });

  it("refuses a log that is in use and has no valid entry", () => {
    const file = build.buildVhdx({ disk });
    build.writeLog(file, []);
    assert.throws(() => openImage(vhdx, file), fails("FORMAT_CORRUPT", /has no valid sequence of entries/));
  });

  it("ignores entries while the header names no log", () => {
    const file = build.buildVhdx({ disk });
    build.writeLog(file, [{ position: 0, sequenceNumber: 1n, changes: [{ offset: build.BAT, zeros: 4096 }] }]);
    for (const header of [build.HEADER_1, build.HEADER_2]) file.fill(0, header + 48, header + 64);
    build.sealVhdx(file);
    assert.equal(Buffer.compare(readDisk(vhdx, file), disk), 0);
    assert.deepEqual(openImage(vhdx, file).warnings, []);
  });

  it("refuses a log above the limit before it reads it", () => {
    const file = build.buildVhdx({ disk });
    for (const header of [build.HEADER_1, build.HEADER_2]) file.writeUInt32LE(0xfff0_0000, header + 68);
    build.guidBytes(build.LOG_GUID).copy(file, build.HEADER_2 + 48);
    build.sealVhdx(file);
    assert.throws(() => openImage(vhdx, file), fails("FORMAT_OUT_OF_BOUNDS", /above the limit of 33554432/));
  });

  it("refuses to compute checksums for ever", () => {
    const file = build.buildVhdx({ disk });
    build.writeLog(file, []);
    const header = build.logEntry({ position: 0, sequenceNumber: 1n, changes: [] }, file.length);
    header.writeUInt32LE(MIB, 8);
    for (let at = 0; at < MIB; at += 4096) header.copy(file, build.LOG + at);
    assert.throws(() => openImage(vhdx, file), fails("FORMAT_OUT_OF_BOUNDS", /the entries of the log overlap/));
  });

  it("refuses more zero descriptors than it merges", () => {
    const file = build.buildVhdx({ disk });
    const changes = Array.from({ length: 17_000 }, (_, i) => ({ offset: build.BAT + 8192 * i, zeros: 4096 }));
    build.writeLog(file, [{ position: 0, sequenceNumber: 1n, changes }]);
    assert.throws(() => openImage(vhdx, file), fails("FORMAT_OUT_OF_BOUNDS", /more than 16384 zero descriptors/));
  });
});
