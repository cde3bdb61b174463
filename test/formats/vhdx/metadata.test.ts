import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FormatError } from "../../../formats/errors.ts";
import { vhdx } from "../../../formats/vhdx/vhdx.ts";
import { baseDisk } from "../../support/base-disk.ts";
import * as build from "../../support/build-vhdx.ts";
import { openImage, readDisk } from "../../support/parse.ts";

const KIB = 1024;
const MIB = 1024 * KIB;
const TIB = 1024 * 1024 * MIB;
const disk = baseDisk(MIB);
const UNKNOWN = "12345678-9ABC-DEF0-1234-56789ABCDEF0";

function assertRefused(file: Uint8Array, code: string, message: RegExp): void {
  assert.throws(
    () => openImage(vhdx, file),
    (error) => error instanceof FormatError && error.code === code && message.test(error.message),
  );
}

function changed(change: (file: Buffer) => void): Buffer {
  const file = build.buildVhdx({ disk });
  change(file);
  return file;
}

describe("vhdx metadata", () => {
  it("refuses a differencing disk by name, with a remedy (H10)", () => {
    const file = build.buildVhdx({
      disk,
      hasParent: true,
      extraItems: [{ guid: "A8D35F2D-B30B-454D-ABF7-D3D84834AB0C", required: true }],
    });
    assertRefused(file, "FORMAT_UNSUPPORTED", /differencing disk/);
    assert.throws(
      () => openImage(vhdx, file),
      (error) => error instanceof FormatError && /Merge/.test(error.remedy ?? ""),
    );
  });

  it("refuses an unknown required item with its GUID, and skips one that is not required", () => {
    const required = build.buildVhdx({ disk, extraItems: [{ guid: UNKNOWN, required: true }] });
    assertRefused(required, "FORMAT_UNSUPPORTED", new RegExp(`metadata item that is not known: ${UNKNOWN}`));
    const optional = build.buildVhdx({ disk, extraItems: [{ guid: UNKNOWN, required: false }] });
    assert.equal(Buffer.compare(readDisk(vhdx, optional), disk), 0);
  });

  for (const blockSize of [0, 512 * KIB, MIB + 1, 3 * MIB, 512 * MIB, 0xffff_ffff]) {
    it(`refuses a block size of ${blockSize}`, () => {
      const file = changed((f) => f.writeUInt32LE(blockSize, build.METADATA_ITEMS));
      assertRefused(file, "FORMAT_INVALID", new RegExp(`block size is ${blockSize};`));
    });
  }

  for (const sectorSize of [0, 511, 520, 1024, 8192]) {
    it(`refuses a logical sector size of ${sectorSize}`, () => {
      const file = changed((f) => f.writeUInt32LE(sectorSize, build.LOGICAL_SECTOR_SIZE));
      assertRefused(file, "FORMAT_INVALID", new RegExp(`logical sector size is ${sectorSize};`));
    });
  }

  it("refuses virtual sizes above 64 TiB, and such that end inside a sector", () => {
    const sized = (size: number) => changed((f) => f.writeBigUInt64LE(BigInt(size), build.VIRTUAL_DISK_SIZE));
    assertRefused(sized(64 * TIB + 512), "FORMAT_OUT_OF_BOUNDS", /above the limit of 64 TiB/);
    assertRefused(sized(MIB + 1), "FORMAT_INVALID", /not a multiple of the logical sector size 512/);
    const odd4k = build.buildVhdx({ disk, logicalSectorSize: 4096 });
    odd4k.writeBigUInt64LE(BigInt(MIB + 512), build.VIRTUAL_DISK_SIZE);
    assertRefused(odd4k, "FORMAT_INVALID", /not a multiple of the logical sector size 4096/);
  });

  it("refuses a table without its signature, with too many entries, or without a needed item", () => {
    assertRefused(
      changed((f) => f.write("x", build.METADATA)),
      "FORMAT_INVALID",
      /does not start with/,
    );
    assertRefused(
      changed((f) => f.writeUInt16LE(2048, build.METADATA + 10)),
      "FORMAT_OUT_OF_BOUNDS",
      /2048 entries, above the limit of 2047/,
    );
    assertRefused(
      changed((f) => f.writeUInt16LE(1, build.METADATA + 10)),
      "FORMAT_INVALID",
      /the metadata has no logical sector size/,
    );
  });

  it("refuses an item outside the region, of another length, or named twice", () => {
    const entry = build.METADATA + 32;
    for (const [at, value] of [
      [16, MIB - 4],
      [16, 0],
      [20, 9],
    ] as const) {
      const file = changed((f) => f.writeUInt32LE(value, entry + at));
      assertRefused(file, "FORMAT_INVALID", /the file parameters lie at/);
    }
    const twice = changed((f) => f.copy(f, entry + 64, entry, entry + 32));
    assertRefused(twice, "FORMAT_CORRUPT", /names the file parameters twice/);
  });

  it("reads items that lie far apart", () => {
    const far = build.METADATA + 900 * KIB;
    const file = changed((f) => {
      f.copy(f, far, build.VIRTUAL_DISK_SIZE, build.VIRTUAL_DISK_SIZE + 8);
      f.fill(0xff, build.VIRTUAL_DISK_SIZE, build.VIRTUAL_DISK_SIZE + 8);
      f.writeUInt32LE(900 * KIB, build.METADATA + 32 + 32 + 16);
    });
    assert.equal(Buffer.compare(readDisk(vhdx, file), disk), 0);
  });

  it("takes a required user item for unknown even if its GUID is a system item's", () => {
    const file = changed((f) => f.writeUInt32LE(5, build.METADATA + 32 + 24));
    assertRefused(file, "FORMAT_UNSUPPORTED", /CAA16737-FA36-4D43-B3B6-33F0AA44E76B/);
  });
});
