import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseQuantity, showBytes, showSeconds } from "../../cmd/quantity.ts";
import { UsageError } from "../../importer/errors.ts";

describe("parseQuantity", () => {
  const rows: readonly [string, number][] = [
    ["0", 0],
    ["10737418240", 10 * 2 ** 30],
    ["1k", 1000],
    ["10G", 10e9],
    ["10Gi", 10 * 2 ** 30],
    ["1.5Ti", 1.5 * 2 ** 40],
    ["0.5Ki", 512],
    [" 4Mi ", 4 * 2 ** 20],
    ["2P", 2e15],
    ["7Pi", 7 * 2 ** 50],
    ["1.2", 2],
    ["0.0001k", 1],
  ];
  for (const [text, bytes] of rows) it(`reads ${text}`, () => assert.equal(parseQuantity(text), bytes));

  for (const text of [
    "",
    "Gi",
    "-1",
    "1,5Gi",
    "10 Gi",
    "10gi",
    "10K",
    "10GiB",
    "1e3",
    "0x10",
    ".5Gi",
    "5.",
    "8Pi",
    "9".repeat(400),
    "1toString",
    "1constructor",
  ]) {
    it(`refuses ${text.slice(0, 20) || "nothing"}`, () => {
      assert.throws(
        () => parseQuantity(text),
        (error) => error instanceof UsageError && error.message.length < 200,
      );
    });
  }
});

describe("showBytes", () => {
  const rows: readonly [number, string][] = [
    [0, "0 B"],
    [1023, "1023 B"],
    [1024, "1 KiB"],
    [1536, "1.50 KiB"],
    [20 * 1024 + 512, "20.5 KiB"],
    [300 * 1024 + 512, "301 KiB"],
    [10 * 2 ** 30, "10 GiB"],
    [2 ** 53 - 1, "8.00 PiB"],
    [1e18, "888 PiB"],
  ];
  for (const [bytes, text] of rows) it(`shows ${bytes}`, () => assert.equal(showBytes(bytes), text));
});

describe("showSeconds", () => {
  const rows: readonly [number, string][] = [
    [-1, "0 s"],
    [12.4, "12 s"],
    [59.6, "1 min 00 s"],
    [200, "3 min 20 s"],
    [3599.9, "1 h 00 min"],
    [3720, "1 h 02 min"],
    [360_000, "100 h 00 min"],
  ];
  for (const [seconds, text] of rows) it(`shows ${seconds}`, () => assert.equal(showSeconds(seconds), text));
});
