import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PeekedStream } from "../../importer/peeked-stream.ts";
import { CountedInput, readAll } from "../suites/codec.ts";

const bytes = Buffer.from(Array.from({ length: 1000 }, (_, i) => i % 251));

describe("PeekedStream", () => {
  for (const [length, step] of [
    [64, 7],
    [64, 5000],
    [1000, 13],
    [5000, 13],
    [0, 13],
  ] as const) {
    it(`still gives ${length} bytes that were looked at, in pieces of ${step}`, async () => {
      const input = new CountedInput(bytes, step, true);
      const { head, stream } = await PeekedStream.peek(input, length);
      assert.ok(bytes.subarray(0, length).equals(head));
      head.fill(0); // the caller's own
      assert.ok((await readAll(stream, 33)).equals(bytes));
    });
  }

  it("takes no more from the stream than was asked for", async () => {
    const input = new CountedInput(bytes);
    const { stream } = await PeekedStream.peek(input, 10);
    const rest = Buffer.alloc(1000);
    assert.equal(input.read(rest), 990);
    await stream.close();
    assert.equal(input.closes, 1);
  });
});
