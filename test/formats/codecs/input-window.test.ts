import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GIVE_BACK_LENGTH, InputWindow, WINDOW_LENGTH } from "../../../formats/codecs/input-window.ts";
import { CountedInput, samplePlain } from "../../suites/codec.ts";

describe("InputWindow", () => {
  for (const step of [1000, 70_000, Number.MAX_SAFE_INTEGER]) {
    it(`passes on everything in order, in pieces of ${step}, and can give back a word`, async () => {
      const bytes = samplePlain(900_001);
      const window = new InputWindow(new CountedInput(bytes, step, true));
      const got: Buffer[] = [];
      for (let i = 0; !(window.ended && window.length === 0); i++) {
        await window.refill();
        const back = Math.min(
          i % (GIVE_BACK_LENGTH + 1),
          got.reduce((sum, piece) => sum + piece.length, 0),
        );
        window.consume(-back);
        const part = window.bytes();
        const take = i % 3 === 0 ? part.length : Math.max(back, part.length >> 1);
        got.push(Buffer.from(part.subarray(back, take)));
        window.consume(take);
      }
      assert.ok(Buffer.concat(got).equals(bytes));
    });
  }

  it("says at once what is there at once", () => {
    const window = new InputWindow(new CountedInput(samplePlain(5000), 3000));
    assert.deepEqual([window.refill(), window.length, window.ended], [3000, 3000, false]);
    assert.deepEqual([window.refill(), window.refill(), window.ended], [2000, 0, true]);
    assert.equal(window.refill(), 0);
    assert.equal(window.length, 5000);
  });

  it("refuses what a decoder must not do", () => {
    const window = new InputWindow(new CountedInput(samplePlain(WINDOW_LENGTH * 2)));
    assert.equal(window.refill(), WINDOW_LENGTH);
    assert.throws(() => window.consume(WINDOW_LENGTH + 1), /consumed/);
    assert.throws(() => window.consume(-GIVE_BACK_LENGTH - 1), /consumed/);
    assert.throws(() => window.refill(), /more input than its window holds/);
  });
});
