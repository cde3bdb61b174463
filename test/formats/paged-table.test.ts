import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Need } from "../../formats/disk-format.ts";
import { PagedTable } from "../../formats/paged-table.ts";
import { parse } from "../support/parse.ts";

const PAGE = 16 * 1024;

function tableFile(entryCount: number, littleEndian: boolean): Uint8Array {
  const file = new Uint8Array(100 + entryCount * 4);
  const view = new DataView(file.buffer);
  for (let i = 0; i < entryCount; i++) view.setUint32(100 + i * 4, i * 3, littleEndian);
  return file;
}

describe("a paged table", () => {
  for (const littleEndian of [true, false]) {
    it(`is read a page at a time (${littleEndian ? "little" : "big"}-endian)`, () => {
      const entryCount = PAGE + 10;
      const file = tableFile(entryCount, littleEndian);
      const table = new PagedTable({ hostOffset: 100, entryCount, littleEndian });
      const needs: Need[] = [];
      for (let i = 0; i < entryCount; i++) assert.equal(parse(file, table.entry(i), needs), i * 3);
      assert.deepEqual(needs, [
        { offset: 100, length: PAGE * 4 },
        { offset: 100 + PAGE * 4, length: 40 },
      ]);
    });
  }

  it("keeps the last four pages", () => {
    const file = tableFile(6 * PAGE, true);
    const table = new PagedTable({ hostOffset: 100, entryCount: 6 * PAGE, littleEndian: true });
    const needs: Need[] = [];
    for (const page of [0, 1, 2, 3, 0, 1, 4, 3, 0, 0]) parse(file, table.pageOf(page * PAGE), needs);
    assert.deepEqual(
      needs.map((need) => (need.offset - 100) / 4 / PAGE),
      [0, 1, 2, 3, 4, 0],
    );
  });
});
