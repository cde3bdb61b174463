import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MAX_NEED_LENGTH } from "../../../formats/disk-format.ts";
import { L1_PIECE_ENTRIES, l1Piece, tableOffset } from "../../../formats/qcow2/l1-table.ts";
import { someGeometry } from "./geometries.ts";

function offsetOf(entry: bigint, hostSize?: number): number {
  const piece = new DataView(new ArrayBuffer(16));
  piece.setBigUint64(8, entry);
  return tableOffset(piece, 0, 1, someGeometry({}, hostSize));
}

describe("qcow2 L1 table", () => {
  it("holds offsets between reserved bits", () => {
    assert.equal(offsetOf(0n), 0);
    assert.equal(offsetOf(1n << 63n), 0);
    assert.equal(offsetOf(0xff00_0000_0000_01ffn), 0);
    assert.equal(offsetOf(0xff00_1234_5678_01ffn & ~0xfe00n), 0x1234_5678_0000);
    assert.equal(offsetOf(0x8010_0000_0000_0000n), 2 ** 52);
  });

  it("points to whole clusters in the file", () => {
    assert.throws(() => offsetOf(0x20200n), { code: "FORMAT_CORRUPT", message: /start of a cluster/ });
    assert.equal(offsetOf(0x20000n, 0x30000), 0x20000);
    assert.throws(() => offsetOf(0x20000n, 0x2ffff), { code: "FORMAT_CORRUPT", message: /beyond the end/ });
    assert.throws(() => offsetOf(1n << 53n), { code: "FORMAT_OUT_OF_BOUNDS" });
  });

  it("is asked for in pieces, as far as the disk needs it", () => {
    const geometry = someGeometry({ l1Size: 4 * 2 ** 20, size: (L1_PIECE_ENTRIES + 10) * 2 ** 29 });
    const first = l1Piece(geometry, 0);
    assert.ok(first.length <= MAX_NEED_LENGTH);
    assert.deepEqual(l1Piece(geometry, L1_PIECE_ENTRIES), { offset: first.offset + first.length, length: 80 });
  });
});
