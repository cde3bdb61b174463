/**
 * Images that pass once through standard input, with far more data than is ever held in memory: none of those that qemu-img
 * or a guest writes may need the spill file, and each gives the disk that qemu-img reads.
 *
 * The counter-example at the end does need it: without one, `spilled: false` would prove nothing.
 */
import assert from "node:assert/strict";
import { createCipheriv } from "node:crypto";
import { closeSync, openSync, readFileSync, readSync, rmSync, statSync, writeSync } from "node:fs";
import path from "node:path";
import { after, before, describe, it } from "node:test";
import * as convert from "../../cmd/convert.ts";
import type { ConvertResult } from "../../cmd/convert.ts";
import { MAX_HELD_BYTES } from "../../importer/engine/hold.ts";
import { runCommand } from "../support/command-io.ts";
import { runDecant } from "../support/run-decant.ts";
import { requireTools } from "../support/tools.ts";
import type { Choice } from "./dimensions.ts";
import { ImageFolder } from "./make-image.ts";

const KIB = 1024;
const MIB = 1024 * KIB;
const DISK_LENGTH = 96 * MIB;

const skip = requireTools("qemu-img", "qemu-io");

const plain = { version: "3", compression: "none", preallocation: "off" };

/** Of a disk whose data does not compress, unless a row says otherwise. */
const ROWS: readonly { readonly format: string; readonly choice: Choice; readonly compressible?: true }[] = [
  { format: "raw", choice: { holes: "kept" } },
  { format: "qcow2", choice: { ...plain, written: "in order" } },
  { format: "qcow2", choice: { ...plain, written: "out of order" } },
  { format: "qcow2", choice: { ...plain, written: "guest" } },
  { format: "qcow2", choice: { ...plain, written: "guest" }, compressible: true },
  { format: "qcow2", choice: { ...plain, cluster: "4k", written: "guest" } },
  { format: "qcow2", choice: { ...plain, cluster: "2M", extendedL2: "on", written: "guest" } },
  { format: "qcow2", choice: { ...plain, preallocation: "metadata", written: "guest" } },
  { format: "qcow2", choice: { ...plain, compression: "zlib", written: "out of order" } },
  { format: "qcow2", choice: { ...plain, compression: "zlib", written: "guest" }, compressible: true },
  { format: "qcow2", choice: { ...plain, compression: "zstd", written: "guest" } },
  { format: "vmdk", choice: { subformat: "monolithicSparse", written: "guest" } },
  { format: "vmdk", choice: { subformat: "streamOptimized", written: "out of order" } },
  { format: "vpc", choice: { subformat: "dynamic", written: "guest" } },
  { format: "vpc", choice: { subformat: "fixed", written: "in order" } },
  { format: "vhdx", choice: { subformat: "dynamic", blockSize: "1M", written: "guest" } },
  { format: "vhdx", choice: { subformat: "dynamic", log: "holds the table", written: "out of order" } },
  { format: "vdi", choice: { static: "off", written: "guest" } },
];

let incompressible: ImageFolder;
let compressible: ImageFolder;

describe("standard input", { skip }, () => {
  before(() => {
    incompressible = new ImageFolder(disk(random));
    compressible = new ImageFolder(disk(text));
  });
  after(() => {
    incompressible.remove();
    compressible.remove();
  });

  for (const [i, row] of ROWS.entries()) {
    const asProcess = i % 9 === 3;
    const kind = row.compressible === true ? ", compressible" : "";
    it(`${row.format}: ${Object.values(row.choice).join(", ")}${kind}${asProcess ? " (pipe)" : ""}`, async () => {
      const images = row.compressible === true ? compressible : incompressible;
      const image = images.make(row.format, row.choice);
      const result = await convertStream(images, image, asProcess);
      assert.equal(result.spilled, false);
      assertTarget(images, images.contentOf(row.format, row.choice, image));
    });
  }

  it("spills what it must: a qcow2 whose L2 tables follow all of its data", async () => {
    const choice = { ...plain, written: "in order" };
    const image = incompressible.make("qcow2", choice);
    moveTablesToEnd(image);
    const result = await convertStream(incompressible, image, false);
    assert.equal(result.spilled, true);
    assertTarget(incompressible, incompressible.contentOf("qcow2", choice, image));
  });
});

async function convertStream(images: ImageFolder, image: string, asProcess: boolean): Promise<ConvertResult> {
  const target = path.join(images.path, "target.raw");
  rmSync(target, { force: true });
  const args = ["--json", "-", target];
  const { status, stdout } = asProcess
    ? await runDecant(["convert", ...args], { input: readFileSync(image) })
    : await runCommand(convert, args, { standardInput: image });
  assert.equal(status, 0, stdout);
  return JSON.parse(stdout) as ConvertResult;
}

function assertTarget(images: ImageFolder, content: Buffer): void {
  assert.ok(readFileSync(path.join(images.path, "target.raw")).equals(content), "the disks are equal");
}

/** Three quarters data, in parts of 128 KiB to 8 MiB, the rest holes. */
function disk(fill: (length: number) => Buffer): Buffer {
  const bytes = Buffer.alloc(DISK_LENGTH);
  const lengths = [128 * KIB, 1 * MIB, 8 * MIB, 320 * KIB, 3 * MIB];
  let data = 0;
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const length = Math.min(lengths[i % lengths.length] ?? MIB, bytes.length - at);
    data += fill(length).copy(bytes, at);
    at += Math.ceil((length * 4) / 3 / MIB) * MIB;
  }
  assert.ok(data > 2 * MAX_HELD_BYTES, `${data} bytes of data`);
  return bytes;
}

const keyStream = createCipheriv("aes-128-ctr", Buffer.alloc(16, 1), Buffer.alloc(16));

function random(length: number): Buffer {
  return keyStream.update(Buffer.alloc(length));
}

/** Lines that differ, so that one in the wrong place is seen. */
function text(length: number): Buffer {
  const lines = Array.from(
    { length: Math.ceil(length / 64) },
    (_, i) => `${random(6).toString("hex")} line ${i} of ${length}`,
  );
  return Buffer.from(lines.map((line) => `${line.padEnd(63)}\n`).join("")).subarray(0, length);
}

/** Copies every L2 table behind the last byte and makes the L1 table name the copies. */
function moveTablesToEnd(image: string): void {
  const clusterSize = 64 * KIB;
  const fd = openSync(image, "r+");
  try {
    const header = Buffer.alloc(48);
    readSync(fd, header, 0, header.length, 0);
    const l1 = Buffer.alloc(header.readUInt32BE(36) * 8);
    const l1Offset = Number(header.readBigUInt64BE(40));
    readSync(fd, l1, 0, l1.length, l1Offset);
    let end = Math.ceil(statSync(image).size / clusterSize) * clusterSize;
    for (let i = 0; i < l1.length; i += 8) {
      const offset = Number(l1.readBigUInt64BE(i) & 0xff_ffff_ffff_fe00n);
      if (offset === 0) continue;
      const table = Buffer.alloc(clusterSize);
      readSync(fd, table, 0, table.length, offset);
      writeSync(fd, table, 0, table.length, end);
      l1.writeBigUInt64BE((1n << 63n) | BigInt(end), i);
      end += clusterSize;
    }
    writeSync(fd, l1, 0, l1.length, l1Offset);
  } finally {
    closeSync(fd);
  }
}
