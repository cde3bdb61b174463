import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MAX_ANNOUNCED } from "../../formats/disk-format.ts";
import { ExtentList, NOWHERE } from "../../formats/extent-list.ts";
import type { ExtentListOptions } from "../../formats/extent-list.ts";

const encoded = { encoding: "deflate", offset: 7, length: 3, decodedLength: 10, skip: 0 } as const;

function listOf(options: ExtentListOptions, ...added: Parameters<ExtentList["add"]>[]): unknown[] {
  const list = new ExtentList(options);
  for (const one of added) list.add(...one);
  return list.finish().map((e) => {
    const at = e.kind === "data" ? (e.stored.encoding === "plain" ? e.stored.offset : undefined) : e.hostOffset;
    return [e.kind, e.offset, e.length, at];
  });
}

describe("a list of extents", () => {
  it("merges neighbours that adjoin in the file too, or are in it nowhere", () => {
    assert.deepEqual(listOf({}, ["data", 0, 10, 50], ["data", 10, 10, 60]), [["data", 0, 20, 50]]);
    assert.equal(listOf({}, ["data", 0, 10, 50], ["data", 10, 10, 61]).length, 2);
    assert.equal(listOf({}, ["data", 0, 10, 50], ["data", 20, 10, 60]).length, 2);
    assert.deepEqual(listOf({}, ["hole", 0, 10], ["hole", 10, 10]), [["hole", 0, 20, undefined]]);
    assert.deepEqual(listOf({}, ["zero", 0, 10, 50], ["zero", 10, 10, 60]), [["zero", 0, 20, 50]]);
    assert.equal(listOf({}, ["zero", 0, 10, 50], ["zero", 10, 10, NOWHERE]).length, 2);
    assert.equal(listOf({}, ["zero", 0, 10, NOWHERE], ["zero", 10, 10, 10]).length, 2);
    assert.equal(listOf({}, ["hole", 0, 10], ["zero", 10, 10]).length, 2);
  });

  it("cuts to its range, the place in the file too", () => {
    const range = { start: 5, end: 25 };
    assert.deepEqual(listOf(range, ["data", 0, 10, 50], ["data", 10, 30, 60]), [["data", 5, 20, 55]]);
    assert.deepEqual(listOf(range, ["data", 0, 5, 50], ["hole", 25, 5]), []);
    assert.deepEqual(listOf({ start: 5, end: 6 }, ["zero", 0, 10, 50]), [["zero", 5, 1, 55]]);
  });

  it("cuts an encoded extent by skipping what it decodes to, and merges none", () => {
    const list = new ExtentList({ start: 5, end: 25 });
    for (const offset of [0, 10, 20, 30]) list.addEncoded(offset, 10, encoded);
    assert.deepEqual(list.finish(), [
      { kind: "data", offset: 5, length: 5, stored: { ...encoded, skip: 5 } },
      { kind: "data", offset: 10, length: 10, stored: encoded },
      { kind: "data", offset: 20, length: 5, stored: encoded },
    ]);
  });

  it("keeps the order of what is merged and what is not", () => {
    const list = new ExtentList();
    list.add("data", 0, 10, 0);
    list.addEncoded(10, 10, encoded);
    list.addInline(20, new Uint8Array(10));
    list.add("data", 30, 10, 10);
    const order = list.finish().map((extent) => extent.offset);
    assert.deepEqual(order, [0, 10, 20, 30]);
  });

  it("leaves holes out where they are not wanted, and is empty after it was finished", () => {
    const list = new ExtentList({ holes: false });
    list.add("hole", 0, 10);
    assert.ok(list.isEmpty);
    list.add("data", 10, 10, 50);
    list.add("hole", 20, 10);
    list.add("data", 30, 10, 60);
    assert.ok(!list.isEmpty);
    assert.equal(list.finish().length, 2);
    assert.ok(list.isEmpty);
  });

  for (const [kind, add] of [
    ["encoded", (list: ExtentList, i: number) => list.addEncoded(i, 1, encoded)],
    ["plain", (list: ExtentList, i: number) => list.add("data", i, 1, i * 2)],
  ] as const) {
    it(`has no room left before it is too long (${kind})`, () => {
      const list = new ExtentList();
      for (let i = 0; list.hasRoom(); i++) add(list, i);
      const { length } = list.finish();
      assert.ok(length === MAX_ANNOUNCED || length === MAX_ANNOUNCED - 1, `${length}`);
      for (let i = 0; list.hasRoom(32); i++) add(list, i);
      assert.ok(list.finish().length <= MAX_ANNOUNCED - 31);
    });
  }

  it("has no room after a MiB of copied bytes", () => {
    const list = new ExtentList();
    for (let i = 0; i < 256; i++) {
      assert.ok(list.hasRoom());
      list.addInline(i * 4096, new Uint8Array(4096));
    }
    assert.ok(!list.hasRoom());
    list.finish();
    assert.ok(list.hasRoom());
  });

  it("copies inline bytes, which the receiver may give away", () => {
    const list = new ExtentList();
    const bytes = new Uint8Array([1, 2, 3]);
    list.addInline(0, bytes);
    bytes.fill(9);
    const stored = { encoding: "inline", bytes: new Uint8Array([1, 2, 3]) };
    assert.deepEqual(list.finish(), [{ kind: "data", offset: 0, length: 3, stored }]);
  });
});
