import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseDecimal, parseDecimalText } from "../../../../formats/archives/tar/decimal.ts";

describe("parseDecimal", () => {
  it("reads digits up to 2^53 - 1, whatever zeros are before them", () => {
    const texts: [string, number][] = [
      ["0", 0],
      ["8", 8],
      ["9007199254740991", Number.MAX_SAFE_INTEGER],
      [`${"0".repeat(40)}12`, 12],
    ];
    for (const [text, value] of texts) {
      assert.equal(parseDecimalText(text, "it"), value);
      assert.equal(parseDecimal(Buffer.from(text), "it"), value);
    }
  });

  it("refuses the rest", () => {
    for (const text of ["", "-1", "+1", "1.0", "1e3", " 1", "1 ", "0x1"])
      assert.throws(() => parseDecimalText(text, "it"), /it is not a decimal/);
    for (const text of ["9007199254740992", "9".repeat(500)])
      assert.throws(() => parseDecimalText(text, "it"), /it is above the limit/);
  });
});
