/**
 * Texts in fields with a limit.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { cutText } from "../../../controller/plan/cut-text.ts";

describe("cutText", () => {
  for (const [text, maxLength, wanted] of [
    ["", 10, ""],
    ["ten bytes.", 10, "ten bytes."],
    ["eleven byte", 10, "eleven …"],
    ["äöüäö", 10, "äöüäö"],
    ["äöüäöü", 10, "äöü…"],
    ["🐟🐟🐟", 8, "🐟…"],
  ] as const) {
    it(`${text} in ${maxLength} bytes is ${wanted}`, () => {
      assert.equal(cutText(text, maxLength), wanted);
    });
  }

  it("is never too long, and whole characters of the text's start", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", maxLength: 40 }),
        fc.integer({ min: 3, max: 60 }),
        (text, maxLength) => {
          // What stands for half a character may be one of the text's own.
          fc.pre(!text.includes("\uFFFD"));
          const cut = cutText(text, maxLength);
          assert.ok(Buffer.byteLength(cut) <= maxLength);
          assert.ok(cut === text || text.startsWith(cut.slice(0, -1)));
          assert.ok(!cut.includes("\uFFFD"));
        },
      ),
    );
  });
});
