import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { mergePax, NO_RECORDS, parsePax } from "../../../../formats/archives/tar/pax.ts";
import type { PaxRecords } from "../../../../formats/archives/tar/pax.ts";
import { FormatError } from "../../../../formats/errors.ts";
import { paxRecord } from "../../../support/build-tar.ts";

function parse(...records: (readonly [string, string])[]): PaxRecords {
  return parsePax(Buffer.from(records.map(([key, value]) => paxRecord(key, value)).join("")), 512);
}

describe("parsePax", () => {
  it("keeps the keys that matter, the last of each", () => {
    const { values, sparse } = parse(
      ["atime", "1.5"],
      ["path", "a"],
      ["SCHILY.xattr.user.x", "=\n\0"],
      ["path", "b=\nc"],
      ["size", ""],
    );
    assert.deepEqual(
      [...values],
      [
        ["path", "b=\nc"],
        ["size", ""],
      ],
    );
    assert.equal(sparse, undefined);
  });

  it("counts bytes, not characters, and ends at zeros", () => {
    const text = paxRecord("path", "\u78c1\u76d8");
    assert.equal(text.slice(0, 3), "15 ");
    assert.deepEqual([...parsePax(Buffer.from(`${text}\0\0\0`), 0).values], [["path", "\u78c1\u76d8"]]);
  });

  it("reads sparse maps of both versions", () => {
    const ranges = [
      [0, 512],
      [1024, 512],
    ] as const;
    const pairs = ranges.flatMap(
      ([at, length]) =>
        [
          ["GNU.sparse.offset", `${at}`],
          ["GNU.sparse.numbytes", `${length}`],
        ] as const,
    );
    for (const { sparse } of [parse(...pairs), parse(["GNU.sparse.map", ranges.join(",")])]) {
      assert.deepEqual(sparse?.extents(1536, 0, 1024), [
        { offset: 0, length: 512, hostOffset: 0 },
        { offset: 1024, length: 512, hostOffset: 512 },
      ]);
    }
  });

  it("refuses malformed records", () => {
    for (const text of [
      "x",
      "0 a=b\n",
      "7 a=b\n",
      "6 a=b\n6 a=b",
      "99999999999999 a=b\n",
      "5 =b\n",
      "5 ab\n",
      " 6 a=b\n",
    ]) {
      assert.throws(
        () => parsePax(Buffer.from(text), 0),
        (error) => error instanceof FormatError && error.code === "FORMAT_CORRUPT" && /record/.test(error.message),
        text,
      );
    }
  });

  it("refuses a name that is too long", () => {
    assert.equal(parse(["path", "x".repeat(65_536)]).values.get("path")?.length, 65_536);
    assert.throws(() => parse(["path", "x".repeat(65_537)]), /record path has 65537 bytes, above the limit of 65536/);
    assert.deepEqual([...parse(["comment", "x".repeat(65_537)]).values], []);
  });
});

describe("mergePax", () => {
  it("lets a header's own records win, and take back", () => {
    const global = parse(["path", "g"], ["size", "1"]);
    assert.equal(mergePax(global, NO_RECORDS), global);
    assert.deepEqual([...mergePax(global, parse(["path", "own"], ["size", ""])).values], [["path", "own"]]);
  });
});
