import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readFully } from "../../formats/byte-stream.ts";
import { failingStream, streamOf } from "../support/streams.ts";

const bytes = Buffer.from(Array.from({ length: 1000 }, (_, i) => i % 251));

describe("readFully", () => {
  it("fills what it was given, from pieces that come at once or later", async () => {
    for (const piece of [1, 7, 400, 5000]) {
      const stream = streamOf(bytes, () => piece);
      const into = Buffer.alloc(600, 0xee);
      assert.equal(await readFully(stream, into), 600);
      assert.ok(into.equals(bytes.subarray(0, 600)));
      into.fill(0xee);
      assert.equal(await readFully(stream, into), 400, "up to the end");
      assert.ok(into.subarray(0, 400).equals(bytes.subarray(600)));
      assert.ok(into.subarray(400).equals(Buffer.alloc(200, 0xee)));
      assert.equal(await readFully(stream, into), 0);
    }
  });

  it("passes on a failure in the middle", async () => {
    const failure = new Error("cut");
    await assert.rejects(readFully(failingStream(bytes, 100, failure), Buffer.alloc(200)), failure);
  });
});
