import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Interrupted, SourceError } from "../../importer/errors.ts";
import { PieceQueue } from "../../importer/piece-queue.ts";
import type { PieceRange } from "../../importer/piece-queue.ts";

const BYTES = Buffer.from("the first piece, the second and the third");
const PIECES: readonly PieceRange[] = [
  { start: 0, end: 17 },
  { start: 17, end: 28 },
  { start: 32, end: 41 },
];

function fetched({ start, end }: PieceRange): Promise<Uint8Array> {
  return Promise.resolve(BYTES.subarray(start, end));
}

describe("PieceQueue", () => {
  it("sends for pieces at once, and gives them in order, in whatever portions", async () => {
    for (const portion of [1, 5, 100]) {
      const taken: string[] = [];
      const queue = new PieceQueue(3, { fetch: fetched, taken: (bytes) => taken.push(Buffer.from(bytes).toString()) });
      for (const piece of PIECES) {
        assert.equal(queue.isFull, false);
        queue.add(piece);
      }
      assert.equal(queue.isFull, true);
      for (const { start, end } of PIECES) {
        assert.equal(queue.first?.start, start);
        const into = Buffer.alloc(portion);
        for (let at = start; at < end;) {
          const count = await queue.take(into, at);
          assert.ok(count > 0 && into.subarray(0, count).equals(BYTES.subarray(at, at + count)));
          at += count;
        }
        assert.equal(queue.isFull, false);
      }
      assert.equal(queue.first, undefined);
      assert.deepEqual(taken, ["the first piece, ", "the second ", "the third"]);
    }
  });

  it("answers at once what has come", async () => {
    const queue = new PieceQueue(1, { fetch: fetched });
    queue.add({ start: 0, end: 17 });
    const first = queue.take(new Uint8Array(1), 0);
    assert.ok(first instanceof Promise);
    await first;
    assert.equal(queue.take(new Uint8Array(4), 1), 4);
  });

  it("fails for the piece that failed, when its turn comes, and for nobody else", async () => {
    const fetch = async (range: PieceRange): Promise<Uint8Array> => {
      if (range.start === 17) throw new SourceError("SOURCE_TRUNCATED", "broke off");
      return await fetched(range);
    };
    const queue = new PieceQueue(2, { fetch });
    for (const piece of PIECES.slice(0, 2)) queue.add(piece);
    assert.equal(await queue.take(new Uint8Array(100), 0), 17);
    await assert.rejects(async () => await queue.take(new Uint8Array(100), 17), SourceError);
    const given = new PieceQueue(1, { fetch });
    given.add({ start: 17, end: 28 });
    given.close();
    await new Promise((resolve) => setImmediate(resolve)); // a rejection that nobody handles would end the process
  });

  it("is closed while somebody waits", async () => {
    const queue = new PieceQueue(1, { fetch: fetched });
    queue.add({ start: 0, end: 17 });
    const waiting = Promise.resolve(queue.take(new Uint8Array(1), 0));
    queue.close();
    await assert.rejects(waiting, Interrupted);
    assert.throws(() => queue.take(new Uint8Array(1), 0), /no piece was sent for/);
  });
});
