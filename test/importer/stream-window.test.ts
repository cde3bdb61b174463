import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { StreamWindow } from "../../importer/stream-window.ts";
import { streamOf } from "../support/streams.ts";

const bytes = Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * 31 + (i >> 8)) & 0xff));

describe("StreamWindow", () => {
  it("looks ahead and reads on, always forward, whatever the pieces", async () => {
    const step = fc.record({
      kind: fc.constantFrom("peek", "read", "skip"),
      by: fc.nat(300),
      length: fc.integer({ min: 1, max: 400 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.integer({ min: 1, max: 700 }), async (steps, piece) => {
        const window = new StreamWindow(streamOf(bytes, (i) => 1 + ((i * 37) % piece)));
        for (const { kind, by, length } of steps) {
          const at = Math.min(window.position + by, bytes.length);
          if (kind === "peek") {
            const seen = await window.peek(at, length);
            assert.ok(bytes.subarray(at, at + length).equals(seen), `peek ${length} at ${at}`);
            assert.equal(window.position, at);
          } else if (kind === "skip") {
            await window.skipTo(at);
            assert.equal(window.position, at);
          } else {
            const from = window.position;
            const into = Buffer.alloc(length);
            const count = await window.read(into);
            assert.ok(count > 0 || from === bytes.length);
            assert.ok(into.subarray(0, count).equals(bytes.subarray(from, from + count)));
            assert.equal(window.position, from + count);
          }
        }
      }),
      { seed: 8, numRuns: 100 },
    );
  });

  it("stops at the end of the stream", async () => {
    const window = new StreamWindow(streamOf(bytes));
    assert.equal((await window.peek(4990, 100)).length, 10);
    await window.skipTo(9000);
    assert.equal(window.position, bytes.length);
    assert.equal((await window.peek(bytes.length, 5)).length, 0);
    assert.equal(await window.read(new Uint8Array(5)), 0);
  });

  it("drains what is left, counting it, and closes what it reads from", async () => {
    let closes = 0;
    const inner = streamOf(bytes, () => 700);
    const window = new StreamWindow({ read: (into) => inner.read(into), close: () => void (closes += 1) });
    await window.peek(10, 10);
    await window.drain();
    assert.equal(window.position, bytes.length);
    await window.close();
    assert.equal(closes, 1);
  });

  it("cannot go back", async () => {
    const window = new StreamWindow(streamOf(bytes));
    await window.skipTo(10);
    await assert.rejects(window.peek(9, 1), /cannot go back/);
  });
});
