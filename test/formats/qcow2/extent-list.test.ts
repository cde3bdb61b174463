import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ExtentList } from "../../../formats/qcow2/extent-list.ts";
import { NOWHERE } from "../../../formats/qcow2/host-cluster.ts";

function listOf(range: [number, number], ...added: Parameters<ExtentList["add"]>[]): unknown[] {
  const list = new ExtentList({ start: range[0], end: range[1], holes: true });
  for (const one of added) list.add(...one);
  return list.finish().map((e) => {
    const at = e.kind === "data" ? (e.stored.encoding === "plain" ? e.stored.offset : undefined) : e.hostOffset;
    return [e.kind, e.offset, e.length, at];
  });
}

describe("qcow2 extent list", () => {
  it("merges neighbours that adjoin in the file too, or are in it nowhere", () => {
    assert.deepEqual(listOf([0, 100], ["data", 0, 10, 50], ["data", 10, 10, 60]), [["data", 0, 20, 50]]);
    assert.equal(listOf([0, 100], ["data", 0, 10, 50], ["data", 10, 10, 61]).length, 2);
    assert.equal(listOf([0, 100], ["data", 0, 10, 50], ["data", 20, 10, 60]).length, 2);
    assert.deepEqual(listOf([0, 100], ["hole", 0, 10, NOWHERE], ["hole", 10, 10, NOWHERE]), [
      ["hole", 0, 20, undefined],
    ]);
    assert.deepEqual(listOf([0, 100], ["zero", 0, 10, 50], ["zero", 10, 10, 60]), [["zero", 0, 20, 50]]);
    assert.equal(listOf([0, 100], ["zero", 0, 10, 50], ["zero", 10, 10, NOWHERE]).length, 2);
    assert.equal(listOf([0, 100], ["zero", 0, 10, NOWHERE], ["zero", 10, 10, 10]).length, 2);
    assert.equal(listOf([0, 100], ["hole", 0, 10, NOWHERE], ["zero", 10, 10, NOWHERE]).length, 2);
  });

  it("cuts to its range, the place in the file too", () => {
    assert.deepEqual(listOf([5, 25], ["data", 0, 10, 50], ["data", 10, 30, 60]), [["data", 5, 20, 55]]);
    assert.deepEqual(listOf([5, 25], ["data", 0, 5, 50], ["hole", 25, 5, NOWHERE]), []);
    assert.deepEqual(listOf([5, 6], ["zero", 0, 10, 50]), [["zero", 5, 1, 55]]);
  });

  it("cuts an encoded extent by skipping what it decodes to, and merges none", () => {
    const list = new ExtentList({ start: 5, end: 25, holes: true });
    const stored = { encoding: "deflate", offset: 7, length: 3, decodedLength: 10, skip: 0 } as const;
    for (const offset of [0, 10, 20, 30]) list.addEncoded(offset, stored);
    assert.deepEqual(list.finish(), [
      { kind: "data", offset: 5, length: 5, stored: { ...stored, skip: 5 } },
      { kind: "data", offset: 10, length: 10, stored },
      { kind: "data", offset: 20, length: 5, stored },
    ]);
  });

  it("leaves holes out where they are not wanted", () => {
    const list = new ExtentList({ start: 0, end: 100, holes: false });
    list.add("hole", 0, 10, NOWHERE);
    assert.ok(list.isEmpty);
    list.add("data", 10, 10, 50);
    list.add("hole", 20, 10, NOWHERE);
    list.add("data", 30, 10, 60);
    assert.ok(!list.isEmpty);
    assert.equal(list.finish().length, 2);
  });
});
