import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { quantityInBytes } from "../../importer/quantity.ts";

describe("quantityInBytes", () => {
  const rows: readonly [text: string, bytes: number][] = [
    ["0", 0],
    ["10737418240", 10 * 2 ** 30],
    ["+5", 5],
    ["5.", 5],
    [".5Gi", 2 ** 29],
    ["007", 7],
    ["1k", 1e3],
    ["1M", 1e6],
    ["1G", 1e9],
    ["1T", 1e12],
    ["1P", 1e15],
    ["1E", 1e18],
    ["1Ki", 2 ** 10],
    ["1Mi", 2 ** 20],
    ["1Gi", 2 ** 30],
    ["1Ti", 2 ** 40],
    ["1Pi", 2 ** 50],
    ["1Ei", 2 ** 60],
    ["1.5Ti", 1.5 * 2 ** 40],
    ["0.1Gi", 107374183],
    ["1500m", 2],
    ["1u", 1],
    ["1n", 1],
    ["0n", 0],
    ["1000000000n", 1],
    ["1000000001n", 2],
    ["1e3", 1000],
    ["1E3", 1000],
    ["1.5e3", 1500],
    ["1e+3", 1000],
    ["1500e-3", 2],
    ["1e-300", 1],
    ["0e999999999", 0],
    ["1e999999999", 2 ** 63],
    ["8Ei", 2 ** 63],
    ["9".repeat(90), 2 ** 63],
    ["9007199254740991", Number.MAX_SAFE_INTEGER],
  ];
  for (const [text, bytes] of rows) {
    it(`reads ${text.slice(0, 20)}`, () => assert.equal(quantityInBytes(text), bytes));
  }

  const wrong = [
    "",
    " ",
    "xx",
    "Gi",
    ".",
    "+",
    "-1",
    "-0.5Gi",
    " 1Gi",
    "1Gi ",
    "1 Gi",
    "1,5Gi",
    "1gi",
    "1K",
    "1GiB",
    "1B",
    "1e",
    "1e+",
    "1e1.5",
    "1e3Ki",
    "1Kie3",
    "0x10",
    "1.2.3",
    "1_000",
    "++1",
    "Infinity",
    "NaN",
    "1toString",
    "1constructor",
    "١",
    "9".repeat(101),
  ];
  for (const text of wrong) {
    it(`refuses ${JSON.stringify(text.slice(0, 20))}`, () => assert.equal(quantityInBytes(text), undefined));
  }

  it("answers any text at once, with a whole number or not at all", () => {
    const unit = fc.constantFrom(..."0123456789.+-eEinumkKMGTP".split(""));
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 120 }), (text) => {
        const bytes = quantityInBytes(text);
        assert.ok(bytes === undefined || (Number.isInteger(bytes) && bytes >= 0 && bytes <= 2 ** 63), text);
      }),
    );
  });
});
