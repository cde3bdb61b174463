import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FormatError } from "../../formats/errors.ts";

describe("FormatError", () => {
  it("carries code, remedy, context and cause", () => {
    const cause = new Error("below");
    const error = new FormatError("FORMAT_CORRUPT", "it is damaged", {
      remedy: "Fetch it again.",
      context: { offset: 5 },
      cause,
    });
    assert.ok(error instanceof Error);
    const { name, code, message, remedy, context } = error;
    assert.deepEqual(
      [name, code, message, remedy],
      ["FormatError", "FORMAT_CORRUPT", "it is damaged", "Fetch it again."],
    );
    assert.deepEqual(context, { offset: 5 });
    assert.equal(error.cause, cause);
  });

  it("needs no details", () => {
    const error = new FormatError("FORMAT_INVALID", "no");
    assert.deepEqual([error.remedy, error.context, "cause" in error], [undefined, {}, false]);
  });
});
