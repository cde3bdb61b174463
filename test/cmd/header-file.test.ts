import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseHeaders } from "../../cmd/header-file.ts";
import { UsageError } from "../../importer/errors.ts";

describe("parseHeaders", () => {
  it("reads a header a line, without the blanks around its value", () => {
    const text =
      "# for the mirror\r\nX-Token:  a: b \t\r\n\n  \nAuthorization: Bearer c\nX-Empty:\nX-Twice: 1\nX-Twice: 2";
    assert.deepEqual(parseHeaders(text, "file"), [
      ["X-Token", "a: b"],
      ["Authorization", "Bearer c"],
      ["X-Empty", ""],
      ["X-Twice", "1"],
      ["X-Twice", "2"],
    ]);
  });

  it("names the line of what is none, and no word of it", () => {
    for (const line of ["hunter2", "hunter 2: x", ": hunter2", "X: hunter2\u0000", "X: hunter2\ry", " X: hunter2"]) {
      assert.throws(
        () => parseHeaders(`A: b\n${line}\n`, "file"),
        (error) => error instanceof UsageError && error.message.startsWith("line 2 of file is no header"),
      );
    }
  });

  it("is not slowed down by a long line", () => {
    assert.throws(() => parseHeaders(`${"x".repeat(60_000)}\u0001`, "file"), UsageError);
    assert.throws(() => parseHeaders(`X:${" ".repeat(60_000)}\u0001`, "file"), UsageError);
  });
});
