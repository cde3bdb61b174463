import assert from "node:assert/strict";
import fs from "node:fs";
import { describe, it } from "node:test";
import { FormatError } from "../../../formats/errors.ts";
import { describeError, reviveError } from "../../../importer/engine/thread-error.ts";
import { SourceError, TargetError } from "../../../importer/errors.ts";

/** As a message between threads does it. */
function cross(error: unknown): Error {
  return reviveError(structuredClone(describeError(error)));
}

describe("errors that cross threads", () => {
  it("keep class, code, sentence, remedy and context", () => {
    const details = { remedy: "Fetch it again.", context: { offset: 2 ** 40, names: ["a", "b"] } };
    for (const error of [
      new FormatError("FORMAT_CORRUPT", "the cluster is damaged", details),
      new SourceError("SOURCE_CHANGED", "it became shorter", details),
      new TargetError("TARGET_NO_SPACE", "no space is left", details),
    ]) {
      const revived = cross(error);
      assert.ok(revived instanceof error.constructor);
      assert.deepEqual(Object.entries(revived), Object.entries(error));
      assert.deepEqual([revived.name, revived.message], [error.name, error.message]);
      assert.equal(revived.cause, undefined);
    }
  });

  it("keep the chain of causes, down to the kernel's", () => {
    let cause: unknown;
    try {
      fs.readSync(1_000_000, new Uint8Array(1));
    } catch (error) {
      cause = error;
    }
    const revived = cross(
      new SourceError("SOURCE_UNAVAILABLE", "cannot read", { cause: new Error("between", { cause }) }),
    );
    assert.ok(revived.cause instanceof Error && revived.cause.cause instanceof Error);
    assert.equal(revived.cause.message, "between");
    assert.equal((revived.cause.cause as NodeJS.ErrnoException).code, "EBADF");
    assert.match(revived.cause.cause.message, /EBADF/);
  });

  it("keep the name and the stack of what is a bug", () => {
    const bug = new TypeError("x is not a function");
    const revived = cross(bug);
    assert.deepEqual([revived.name, revived.message, revived.stack], ["TypeError", bug.message, bug.stack]);
    assert.equal("code" in revived, false);
  });

  it("may be anything that was thrown, and a chain without end", () => {
    assert.equal(cross("a string").message, "a string");
    const endless = new Error("round");
    endless.cause = endless;
    let depth = 0;
    for (let at: unknown = cross(endless); at instanceof Error; at = at.cause) depth += 1;
    assert.ok(depth > 1 && depth < 20);
  });
});
