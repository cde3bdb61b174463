import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FormatError } from "../../../formats/errors.ts";
import { regionAt } from "../../../formats/vhdx/region-table.ts";
import { vhdx } from "../../../formats/vhdx/vhdx.ts";
import { baseDisk } from "../../support/base-disk.ts";
import * as build from "../../support/build-vhdx.ts";
import { openImage, parse, readDisk } from "../../support/parse.ts";

const MIB = 1024 * 1024;
const disk = baseDisk(MIB);
const UNKNOWN = "12345678-9ABC-DEF0-1234-56789ABCDEF0";
const BAT_ENTRY = 16;
const METADATA_ENTRY = 48;

/** A file whose region tables are both changed by `change`, which gets the table's offset. */
function withTables(change: (file: Buffer, table: number) => void): Buffer {
  const file = build.buildVhdx({ disk });
  for (const table of [build.REGION_TABLE_1, build.REGION_TABLE_2]) change(file, table);
  build.sealVhdx(file);
  return file;
}

function assertRefused(file: Uint8Array, code: string, message: RegExp): void {
  assert.throws(
    () => openImage(vhdx, file),
    (error) => error instanceof FormatError && error.code === code && message.test(error.message),
  );
}

describe("vhdx region table", () => {
  it("falls back to the second copy, with a warning", () => {
    for (const at of [0, 5, 8, 60_000]) {
      const file = build.buildVhdx({ disk });
      file[build.REGION_TABLE_1 + at] = 0xee;
      assert.equal(Buffer.compare(readDisk(vhdx, file), disk), 0);
      assert.deepEqual(
        openImage(vhdx, file).warnings.map((w) => w.code),
        ["VHDX_REGION_TABLE_DAMAGED"],
      );
      file[build.REGION_TABLE_2 + at] = 0xee;
      assertRefused(file, "FORMAT_CORRUPT", /neither copy of the region table/);
    }
  });

  it("refuses an unknown required region with its GUID, and skips one that is not required", () => {
    const extra = { guid: UNKNOWN, offset: 100 * MIB, length: 0 };
    assertRefused(
      build.buildVhdx({ disk, extraRegions: [{ ...extra, required: true }] }),
      "FORMAT_UNSUPPORTED",
      new RegExp(`not known: ${UNKNOWN}`),
    );
    const optional = build.buildVhdx({ disk, extraRegions: [{ ...extra, required: false }] });
    assert.equal(Buffer.compare(readDisk(vhdx, optional), disk), 0);
  });

  it("keeps payload out of regions that are not known", () => {
    const extraRegions = [{ guid: UNKNOWN, required: false, offset: build.PAYLOAD, length: MIB }];
    const file = build.buildVhdx({ disk, extraRegions });
    assert.throws(() => readDisk(vhdx, file), /block 0 at host offset 0x400000 overlaps the 12345678-/);
  });

  it("refuses regions that overlap", () => {
    for (const [at, offset, message] of [
      [METADATA_ENTRY, build.BAT, /the BAT and the metadata region overlap at host offset 0x200000/],
      [BAT_ENTRY, build.LOG, /overlap at host offset 0x100000/],
    ] as const) {
      const file = withTables((f, table) => f.writeBigUInt64LE(BigInt(offset), table + at + 16));
      assertRefused(file, "FORMAT_CORRUPT", message);
    }
  });

  it("refuses a region outside the file, where the file's length is known", () => {
    const file = withTables((f, table) => f.writeBigUInt64LE(BigInt(f.length), table + BAT_ENTRY + 16));
    assertRefused(file, "FORMAT_CORRUPT", /the BAT at host offset 0x500000, length 0x100000, lies outside the file/);
    assert.throws(() => parse(file, parse(file, vhdx.open(undefined)).extents(0, MIB)), /the file ends at/);
  });

  it("refuses unaligned places, and places in the header section", () => {
    for (const [at, value] of [
      [16, build.BAT + 4096],
      [16, 0],
      [24, MIB + 4096],
    ] as const) {
      const file = withTables((f, table) => f.writeUInt32LE(value, table + BAT_ENTRY + at));
      assertRefused(file, "FORMAT_INVALID", /region 2DC27766-F623-4200-9D64-115E9BFD4A08 lies at/);
    }
  });

  it("refuses a missing or doubled region, and more entries than fit", () => {
    assertRefused(
      withTables((f, table) => f.writeUInt32LE(1, table + 8)),
      "FORMAT_CORRUPT",
      /has no metadata region/,
    );
    const doubled = withTables((f, table) => {
      f.copy(f, table + 80, table + BAT_ENTRY, table + BAT_ENTRY + 32);
      f.writeBigUInt64LE(BigInt(100 * MIB), table + 80 + 16);
      f.writeUInt32LE(3, table + 8);
    });
    assertRefused(doubled, "FORMAT_CORRUPT", /more than one BAT/);
    const full = withTables((f, table) => f.writeUInt32LE(2048, table + 8));
    assertRefused(full, "FORMAT_OUT_OF_BOUNDS", /2048 entries, above the limit of 2047/);
  });

  it("finds what overlaps a range", () => {
    const occupied = [10, 30, 50].map((offset) => ({ name: `at ${offset}`, offset, length: 10 }));
    for (const [offset, length, expected] of [
      [0, 10, undefined],
      [0, 11, "at 10"],
      [19, 1, "at 10"],
      [20, 10, undefined],
      [20, 100, "at 50"],
      [59, 5, "at 50"],
      [60, 5, undefined],
    ] as const) {
      assert.equal(regionAt(occupied, offset, length)?.name, expected);
    }
  });
});
