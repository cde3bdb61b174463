import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readCopy, readUpTo } from "../../../../formats/archives/tar/reading.ts";
import type { Reading } from "../../../../formats/archives/tar/reading.ts";
import type { Need } from "../../../../formats/disk-format.ts";
import { FormatError } from "../../../../formats/errors.ts";

/** Answers from `file`, and overwrites what was lent. */
function drive<T>(file: Uint8Array, reading: Reading<T>): { readonly result: T; readonly needs: Need[] } {
  const needs: Need[] = [];
  let step = reading.next();
  while (step.done !== true) {
    needs.push(step.value);
    const bytes = file.slice(step.value.offset, step.value.offset + step.value.length);
    step = reading.next(bytes);
    bytes.fill(0xa5);
  }
  return { result: step.value, needs };
}

describe("readCopy", () => {
  const file = new Uint8Array(3_000_000).map((_, i) => (i * 7) % 253);

  it("asks in bounded steps and keeps nothing that is lent", () => {
    const { result, needs } = drive(file, readCopy(100, 2_500_000, "a header"));
    assert.ok(Buffer.from(result).equals(file.subarray(100, 2_500_100)));
    assert.deepEqual(
      needs.map((need) => need.length),
      [1_048_576, 1_048_576, 402_848],
    );
  });

  it("reports a file that ends before", () => {
    assert.throws(
      () => drive(file, readCopy(2_000_000, 1_500_000, "a header")),
      (error) =>
        error instanceof FormatError &&
        error.code === "FORMAT_CORRUPT" &&
        /ends at 3000000, inside a header/.test(error.message),
    );
  });
});

describe("readUpTo", () => {
  it("answers with less at the end, and takes no answer for a bug", () => {
    assert.equal(drive(new Uint8Array(700), readUpTo(512, 512)).result.length, 188);
    const reading = readUpTo(0, 512);
    reading.next();
    assert.throws(
      () => reading.next(undefined),
      (error) => !(error instanceof FormatError),
    );
  });
});
