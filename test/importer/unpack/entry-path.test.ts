import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FormatError } from "../../../formats/errors.ts";
import { bytesOf, namesOf } from "../../../importer/unpack/entry-path.ts";

describe("path of an entry", () => {
  it("is its names from the target folder down", () => {
    for (const path of ["a/b", "./a/b", "/a/b", "//a//b/", "a/./b/."])
      assert.deepEqual(namesOf(path), ["a", "b"], path);
    for (const path of ["", ".", "./", "/", "/./."]) assert.deepEqual(namesOf(path), [], path);
    assert.deepEqual(namesOf("..a/b../..."), ["..a", "b..", "..."]);
  });

  it("never leads up", () => {
    for (const path of ["..", "../a", "/..", "a/..", "a/../b", "./../a", "a/..//"]) {
      assert.throws(() => namesOf(path), FormatError, path);
    }
  });

  it("has names without NUL, and not too many", () => {
    assert.throws(() => namesOf("a\0"), { code: "FORMAT_INVALID" });
    assert.equal(namesOf("a/".repeat(1024)).length, 1024);
    assert.throws(() => namesOf("a/".repeat(1025)), { code: "FORMAT_OUT_OF_BOUNDS" });
  });

  it("has names of any bytes", () => {
    assert.deepEqual([...bytesOf("\udce4ä")], [0xe4, 0xc3, 0xa4]);
  });
});
