import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Need } from "../../../formats/disk-format.ts";
import { GrainTables } from "../../../formats/vmdk/grain-tables.ts";
import { decodeSparseHeader } from "../../../formats/vmdk/sparse-header.ts";
import { buildExtent, entries } from "../../support/build-vmdk.ts";
import { parse } from "../../support/parse.ts";

const TABLES = 40;

/** Tables of one sector each from sector 10 on; table 3 is missing, and table 20 is elsewhere. */
const file = buildExtent({ capacity: TABLES * 4 * 8, grainSize: 8, entriesPerTable: 4, directory: 4 }, "", [
  [4, entries(...Array.from({ length: TABLES }, (_, i) => (i === 3 ? 0 : i === 20 ? 60 : 10 + i)))],
  ...Array.from({ length: TABLES }, (_, i) => [10 + i, entries(i, i + 1, i + 2, i + 3)] as const),
  [60, entries(20, 21, 22, 23)],
]);
const header = decodeSparseHeader(file.subarray(0, 512));

describe("grain tables", () => {
  it("are read with their neighbours, once", () => {
    const tables = new GrainTables(header, 4 * 512, file.length);
    const needs: Need[] = [];
    for (let i = 0; i < TABLES; i++) {
      const table = parse(file, tables.table(i), needs);
      assert.deepEqual(table === undefined ? undefined : [...table], i === 3 ? undefined : [i, i + 1, i + 2, i + 3]);
    }
    assert.deepEqual(
      needs.map((need) => [need.offset / 512, need.length / 512]),
      [
        [4, 160 / 512], // the directory
        [10, 3],
        [14, 16],
        [60, 1],
        [31, 19],
      ],
    );
  });

  it("that leave the file are corrupt, when they are asked for", () => {
    const short = file.subarray(0, 12 * 512 + 100);
    const tables = new GrainTables(header, 4 * 512, short.length);
    assert.deepEqual([...(parse(short, tables.table(1)) ?? [])], [1, 2, 3, 4]);
    assert.throws(() => parse(short, tables.table(2)), { code: "FORMAT_CORRUPT", message: /sector 12/ });
  });

  it("need a directory that is in the file", () => {
    assert.throws(() => new GrainTables(header, file.length - 159, file.length), { code: "FORMAT_INVALID" });
  });
});
