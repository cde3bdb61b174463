/**
 * The cache in front of a file that is read over the network: the right bytes, none fetched twice, no more kept than allowed.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { CachedAccess } from "../../importer/cached-access.ts";
import { SourceError } from "../../importer/errors.ts";
import { baseDisk } from "../support/base-disk.ts";
import { lateAccess } from "../support/late-access.ts";
import type { LateAccess } from "../support/late-access.ts";

const KIB = 1024;
const BLOCK = 16 * KIB;
const MAX_BLOCKS = 256;
const LONG = 256 * KIB;

const BYTES = baseDisk(2_000_003);
const UNTOUCHED = 0xa5;

function open(
  headLength = 1000,
  bytes: Uint8Array = BYTES,
): { readonly file: LateAccess; readonly cached: CachedAccess } {
  const file = lateAccess(bytes, 1);
  return { file, cached: new CachedAccess(file, bytes.slice(0, headLength)) };
}

async function read(cached: CachedAccess, offset: number, length: number, bytes: Uint8Array = BYTES): Promise<void> {
  const into = Buffer.alloc(length + 1, UNTOUCHED);
  const count = await cached.readAt(into.subarray(0, length), offset);
  assert.equal(count, Math.max(0, Math.min(length, bytes.length - offset)), `${length} at ${offset}`);
  assert.ok(into.subarray(0, count).equals(bytes.subarray(offset, offset + count)), `${length} at ${offset}`);
  assert.ok(
    into.subarray(count).every((byte) => byte === UNTOUCHED),
    "nothing is written past what is there",
  );
}

describe("CachedAccess", () => {
  it("gives the file's bytes, one read after the other or many at once", async () => {
    const reads = fc.array(
      fc.record({
        offset: fc.nat(BYTES.length + 10),
        length: fc.oneof(fc.nat(100), fc.nat(3 * BLOCK), fc.nat(LONG + 10)),
      }),
      { minLength: 1, maxLength: 20 },
    );
    await fc.assert(
      fc.asyncProperty(reads, fc.nat(), fc.nat(3 * BLOCK), fc.boolean(), async (asked, seed, headLength, atOnce) => {
        const file = lateAccess(BYTES, seed);
        const cached = new CachedAccess(file, BYTES.slice(0, headLength));
        if (atOnce) await Promise.all(asked.map(({ offset, length }) => read(cached, offset, length)));
        else for (const { offset, length } of asked) await read(cached, offset, length);
        assertNoByteTwice(file);
      }),
      { numRuns: 100, seed: 7 },
    );
  });

  it("answers at once from the head that is there", async () => {
    const { file, cached } = open(70_000);
    const into = new Uint8Array(70_000);
    assert.equal(cached.readAt(into, 0), 70_000);
    assert.equal(cached.readAt(into.subarray(0, 10), 69_990), 10);
    assert.equal(cached.readAt(into, BYTES.length), 0);
    assert.equal(cached.readAt(new Uint8Array(0), 5), 0);
    assert.equal(file.asked.length, 0);
    await read(cached, 69_990, 11);
    assert.equal(file.asked.length, 1);
  });

  it("fetches whole blocks, those that are missing side by side in one go", async () => {
    const { file, cached } = open();
    await read(cached, 5 * BLOCK + 7, 10);
    await read(cached, 4 * BLOCK - 1, 3 * BLOCK + 2);
    assert.deepEqual(file.asked, [
      { offset: 5 * BLOCK, length: BLOCK },
      { offset: 3 * BLOCK, length: 2 * BLOCK },
      { offset: 6 * BLOCK, length: 2 * BLOCK },
    ]);
    await read(cached, 3 * BLOCK, 5 * BLOCK);
    assert.equal(file.asked.length, 3);
    const last = Math.floor(BYTES.length / BLOCK);
    await read(cached, BYTES.length - 1, 100);
    assert.deepEqual(file.asked[3], { offset: last * BLOCK, length: BYTES.length - last * BLOCK }, "up to the end");
  });

  it("lets reads of the same block share a fetch", async () => {
    const { file, cached } = open();
    await Promise.all(Array.from({ length: 50 }, (_, i) => read(cached, 10 * BLOCK + i * 100, 100)));
    assert.equal(file.asked.length, 1);
    await Promise.all([read(cached, 0, 3 * BLOCK), read(cached, BLOCK, 4 * BLOCK)]);
    assert.deepEqual(file.asked.slice(1), [
      { offset: 0, length: 3 * BLOCK },
      { offset: 3 * BLOCK, length: 2 * BLOCK },
    ]);
  });

  it("lets long reads pass by, and keeps nothing of them", async () => {
    const { file, cached } = open();
    await read(cached, 5, LONG + 1);
    await read(cached, 5, LONG + 1);
    await read(cached, 100_000, 10);
    assert.deepEqual(file.asked, [
      { offset: 5, length: LONG + 1 },
      { offset: 5, length: LONG + 1 },
      { offset: 6 * BLOCK, length: BLOCK },
    ]);
    await read(cached, 5, LONG);
    assert.equal(file.asked[3]?.offset, 0, "one of just the length is put together from blocks");
  });

  it("keeps the blocks that were used last, and no more", async () => {
    const bytes = Buffer.alloc((MAX_BLOCKS + 10) * BLOCK, 3);
    const { file, cached } = open(0, bytes);
    const touch = async (block: number): Promise<void> => await read(cached, block * BLOCK, 1, bytes);
    for (let block = 0; block < MAX_BLOCKS; block++) await touch(block);
    await touch(0);
    assert.equal(file.asked.length, MAX_BLOCKS, "all of them are there");
    await touch(MAX_BLOCKS);
    await touch(0);
    assert.equal(file.asked.length, MAX_BLOCKS + 1, "the one used last stayed");
    await touch(1);
    assert.equal(file.asked.length, MAX_BLOCKS + 2, "the one used first had to go");
    await touch(3);
    assert.equal(file.asked.length, MAX_BLOCKS + 2, "but no other");
  });

  it("gives what was asked for where more is under way than is kept", async () => {
    const bytes = Buffer.concat(Array.from({ length: 40 }, (_, i) => Buffer.alloc(10 * BLOCK, i + 1)));
    const { cached } = open(0, bytes);
    await Promise.all(Array.from({ length: 40 }, (_, i) => read(cached, i * 10 * BLOCK + 5, 10 * BLOCK - 9, bytes)));
  });

  it("asks again for what failed, and only those fail who waited for it", async () => {
    const file = lateAccess(BYTES, 1, ({ number }) => number === 0);
    const cached = new CachedAccess(file, new Uint8Array(0));
    const outcomes = await Promise.allSettled([
      read(cached, 5, 2 * BLOCK),
      read(cached, BLOCK, 10),
      read(cached, 9 * BLOCK, 10),
    ]);
    assert.deepEqual(
      outcomes.map((outcome) => outcome.status),
      ["rejected", "rejected", "fulfilled"],
    );
    const [first] = outcomes;
    assert.ok(first?.status === "rejected" && first.reason instanceof SourceError);
    await read(cached, 5, 2 * BLOCK);
    await read(cached, BLOCK, 10);
    assert.equal(file.asked.length, 3);
  });

  it("is as large as the file, may be made again from the same plain data, and closes it", () => {
    let closed = 0;
    const file = { ...lateAccess(BYTES, 1), close: () => void (closed += 1) };
    const cached = new CachedAccess(file, new Uint8Array(0));
    assert.equal(cached.size, BYTES.length);
    assert.equal(cached.spec, file.spec);
    cached.close();
    assert.equal(closed, 1);
  });
});

/** Long reads pass by; of the others no block may come twice, for so few are asked for that all are kept. */
function assertNoByteTwice(file: LateAccess): void {
  const seen = new Set<number>();
  for (const { offset, length } of file.asked) {
    const isBlocks = offset % BLOCK === 0 && (length % BLOCK === 0 || offset + length === BYTES.length);
    if (!isBlocks || length > LONG + BLOCK) continue;
    for (let block = offset / BLOCK; block * BLOCK < offset + length; block++) {
      assert.ok(!seen.has(block), `block ${block} was fetched twice`);
      seen.add(block);
    }
  }
}
