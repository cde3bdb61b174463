import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { entriesOfTable } from "../../../formats/qcow2/geometry.ts";
import { someGeometry } from "./geometries.ts";

describe("qcow2 geometry", () => {
  it("follows from the header", () => {
    const geometry = someGeometry({ size: 2 ** 30 + 511 });
    assert.equal(geometry.tableCoverage, 512 * 2 ** 20);
    assert.equal(geometry.virtualSize, 2 ** 30);
    assert.equal(geometry.l1Entries, 2);
    assert.equal(geometry.hostEnd, Infinity);
    assert.equal(someGeometry({ extendedL2: true }).tableCoverage, 256 * 2 ** 20);
    assert.equal(someGeometry({ clusterBits: 9, size: 2 ** 20 }).tableCoverage, 32 * 1024);
    assert.equal(someGeometry({ clusterBits: 21 }).tableCoverage, 512 * 2 ** 30);
  });

  it("counts the entries that the last L2 table needs", () => {
    const geometry = someGeometry({ size: 512 * 2 ** 20 + 3 * 65536 + 512 });
    assert.equal(entriesOfTable(geometry, 0), 8192);
    assert.equal(entriesOfTable(geometry, 1), 4);
  });

  it("needs an L1 table that is long enough, in the file", () => {
    assert.throws(() => someGeometry({ size: 101 * 2 ** 29 }), { code: "FORMAT_INVALID" });
    assert.equal(someGeometry({}, 65536 + 16).hostEnd, 65552);
    assert.throws(() => someGeometry({}, 65536 + 15), { code: "FORMAT_CORRUPT" });
    assert.equal(someGeometry({ size: 0 }, 100).l1Entries, 0);
  });
});
