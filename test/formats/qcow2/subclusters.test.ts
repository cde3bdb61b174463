import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Extent } from "../../../formats/disk-format.ts";
import { ExtentList, NOWHERE } from "../../../formats/extent-list.ts";
import { addSubclusters } from "../../../formats/qcow2/subclusters.ts";
import { someGeometry } from "./geometries.ts";

const SUB = 2048;
const HOST = 0x50000;

function decode(
  zeros: number,
  allocated: number,
  host = HOST,
  fields: { size?: number; hostSize?: number } = {},
): unknown[] {
  const geometry = someGeometry({ extendedL2: true, size: fields.size ?? 2 ** 30 }, fields.hostSize);
  const list = new ExtentList({ start: 0, end: geometry.virtualSize, holes: true });
  addSubclusters({ zeros, allocated }, host, 0, geometry, list);
  return list.finish().map((e: Extent) => {
    const at = e.kind === "data" ? (e.stored.encoding === "plain" ? e.stored.offset : undefined) : e.hostOffset;
    return [e.kind, e.offset / SUB, e.length / SUB, at === undefined ? undefined : (at - HOST) / SUB];
  });
}

describe("qcow2 subclusters", () => {
  it("are data, zeros or holes, each at its place in the cluster", () => {
    assert.deepEqual(decode(0, 0xffff_ffff), [["data", 0, 32, 0]]);
    assert.deepEqual(decode(0xffff_ffff, 0), [["zero", 0, 32, 0]]);
    assert.deepEqual(decode(0, 0), [["hole", 0, 32, 0]]);
    assert.deepEqual(decode(0xffff_ffff, 0, NOWHERE), [["zero", 0, 32, undefined]]);
    assert.deepEqual(decode(0, 0, NOWHERE), [["hole", 0, 32, undefined]]);
    assert.deepEqual(decode(0x0000_0100, 0x8000_0001), [
      ["data", 0, 1, 0],
      ["hole", 1, 7, 1],
      ["zero", 8, 1, 8],
      ["hole", 9, 22, 9],
      ["data", 31, 1, 31],
    ]);
  });

  it("do not contradict themselves", () => {
    assert.throws(() => decode(1, 1), { code: "FORMAT_CORRUPT" });
    assert.throws(() => decode(0x8000_0000, 0x8000_0000), { code: "FORMAT_CORRUPT" });
    assert.throws(() => decode(0, 4, NOWHERE), { code: "FORMAT_CORRUPT" });
  });

  it("lie in the file where they are allocated", () => {
    assert.equal(decode(0, 0b11, HOST, { hostSize: HOST + 2 * SUB }).length, 2);
    assert.throws(() => decode(0, 0b111, HOST, { hostSize: HOST + 2 * SUB }), { code: "FORMAT_CORRUPT" });
    assert.deepEqual(decode(0, 0xffff_ffff, HOST, { size: SUB, hostSize: HOST + SUB }), [["data", 0, 1, 0]]);
  });
});
