import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Extent } from "../../../formats/disk-format.ts";
import { MAX_ANNOUNCED } from "../../../formats/disk-format.ts";
import { ExtentList } from "../../../formats/extent-list.ts";
import type { Geometry } from "../../../formats/qcow2/geometry.ts";
import { addEntries } from "../../../formats/qcow2/l2-table.ts";
import { someGeometry } from "./geometries.ts";

const CLUSTER = 65536;

function tableOf(entries: readonly bigint[]): DataView {
  const table = new DataView(new ArrayBuffer(entries.length * 8));
  entries.forEach((entry, i) => table.setBigUint64(i * 8, entry));
  return table;
}

function decode(entries: readonly bigint[], geometry: Geometry): readonly Extent[] {
  const list = new ExtentList({ start: 0, end: geometry.virtualSize, holes: true });
  assert.equal(
    addEntries(tableOf(entries), { first: 0, end: entries.length, start: 0 }, geometry, list),
    entries.length,
  );
  return list.finish();
}

describe("qcow2 L2 table", () => {
  it("tells holes, zeros with and without space, and data apart", () => {
    const copied = 1n << 63n;
    const entries = [
      0n,
      copied,
      1n,
      0x50001n,
      copied | 0x60001n,
      copied | 0x70000n,
      0x80000n,
      0xa0000n,
      0x3f00_0000_0000_01fen,
    ];
    assert.deepEqual(decode(entries, someGeometry()), [
      { kind: "hole", offset: 0, length: 2 * CLUSTER },
      { kind: "zero", offset: 2 * CLUSTER, length: CLUSTER },
      { kind: "zero", offset: 3 * CLUSTER, length: 2 * CLUSTER, hostOffset: 0x50000 },
      data(5 * CLUSTER, 2 * CLUSTER, 0x70000),
      data(7 * CLUSTER, CLUSTER, 0xa0000),
      { kind: "hole", offset: 8 * CLUSTER, length: CLUSTER },
    ]);
  });

  it("refuses what cannot be", () => {
    assert.throws(() => decode([0x50200n], someGeometry()), { code: "FORMAT_CORRUPT", message: /start of a cluster/ });
    assert.throws(() => decode([0x50201n], someGeometry()), { code: "FORMAT_CORRUPT" });
    assert.throws(() => decode([1n << 53n], someGeometry()), { code: "FORMAT_OUT_OF_BOUNDS" });
    assert.throws(() => decode([1n], someGeometry({ version: 2 })), { code: "FORMAT_CORRUPT", message: /version 2/ });
  });

  it("needs data to lie in the file, as far as the disk goes", () => {
    assert.equal(decode([0x50000n], someGeometry({}, 0x60000)).length, 1);
    assert.throws(() => decode([0x50000n], someGeometry({}, 0x5ffff)), {
      code: "FORMAT_CORRUPT",
      message: /beyond the end/,
    });
    const small = someGeometry({ size: CLUSTER + 1024 }, 0x50000 + 1024);
    assert.deepEqual(decode([0n, 0x50000n], small)[1], data(CLUSTER, 1024, 0x50000));
    assert.equal(decode([0x90001n], someGeometry({}, 0x60000)).length, 1, "zeros need no bytes");
  });

  it("stops where an announcement is full, and goes on from there", () => {
    const entries = Array.from({ length: 20_000 }, (_, i) => BigInt((2 * i + 2) * CLUSTER));
    const geometry = someGeometry({ size: 20_000 * CLUSTER });
    let first = 0;
    let count = 0;
    while (first < entries.length) {
      const list = new ExtentList({ start: 0, end: geometry.virtualSize, holes: false });
      first = addEntries(tableOf(entries), { first, end: entries.length, start: 0 }, geometry, list);
      const extents = list.finish();
      assert.ok(extents.length > 0 && extents.length <= MAX_ANNOUNCED);
      assert.equal(extents[0]?.offset, count * CLUSTER);
      count += extents.length;
    }
    assert.equal(count, entries.length);
  });

  it("decodes a table of 8192 entries in well under ten milliseconds", () => {
    const table = tableOf(Array.from({ length: 8192 }, (_, i) => BigInt((i + (i >> 6)) * CLUSTER)));
    const geometry = someGeometry();
    const times = Array.from({ length: 50 }, () => {
      const started = performance.now();
      const list = new ExtentList({ start: 0, end: geometry.virtualSize, holes: true });
      addEntries(table, { first: 0, end: 8192, start: 0 }, geometry, list);
      list.finish();
      return performance.now() - started;
    });
    const best = Math.min(...times);
    assert.ok(best < 10, `${best} ms`);
  });
});

function data(offset: number, length: number, host: number): Extent {
  return { kind: "data", offset, length, stored: { encoding: "plain", offset: host, length } };
}
