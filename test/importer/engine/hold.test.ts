import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { Hold, MAX_HELD_BYTES } from "../../../importer/engine/hold.ts";
import type { Spill } from "../../../importer/engine/hold.ts";

const MIB = 1024 * 1024;

class MemorySpill implements Spill {
  readonly bytes = Buffer.alloc(64 * MIB);
  closes = 0;

  write(bytes: Uint8Array, offset: number): void {
    this.bytes.set(bytes, offset);
  }

  read(into: Uint8Array, offset: number): void {
    into.set(this.bytes.subarray(offset, offset + into.length));
  }

  close(): void {
    this.closes += 1;
  }
}

function noSpill(): Spill {
  throw new Error("no place to spill");
}

/** All that is held of [start, end), put together from as many pieces as it takes. */
function readAll(hold: Hold, start: number, end: number): Buffer | undefined {
  const bytes = Buffer.alloc(end - start);
  for (let at = start; at < end;) {
    const piece = hold.read(at, end - at);
    if (piece === undefined) return undefined;
    bytes.set(piece, at - start);
    at += piece.length;
  }
  return bytes;
}

const command = fc.oneof(
  fc.record({
    kind: fc.constant("put" as const),
    gap: fc.nat(20),
    length: fc.integer({ min: 1, max: 50 }),
    isTail: fc.boolean(),
  }),
  fc.record({ kind: fc.constant("forget" as const), start: fc.nat(600), length: fc.integer({ min: 1, max: 80 }) }),
  fc.record({ kind: fc.constant("late put" as const), at: fc.nat(600), length: fc.integer({ min: 1, max: 30 }) }),
);

describe("Hold", () => {
  it("is a map from offsets to bytes", () => {
    fc.assert(
      fc.property(fc.array(command, { maxLength: 60, size: "max" }), (commands) => {
        const hold = new Hold(noSpill);
        const model = new Map<number, number>();
        let end = 0;
        const put = (start: number, length: number, isTail: boolean): void => {
          const bytes = Uint8Array.from({ length }, (_, i) => (start + i) * 31);
          for (const [i, byte] of bytes.entries()) model.set(start + i, byte);
          hold.put(start, bytes, isTail);
          bytes.fill(0xa5); // it must have been copied
        };
        for (const each of commands) {
          if (each.kind === "put") {
            put(end + each.gap, each.length, each.isTail);
            end += each.gap + each.length;
          } else if (each.kind === "forget") {
            hold.forget(each.start, each.start + each.length);
            for (let i = 0; i < each.length; i++) model.delete(each.start + i);
          } else {
            let free = 0;
            while (free < each.length && !model.has(each.at + free)) free += 1;
            if (free > 0) put(each.at, free, false);
            end = Math.max(end, each.at + free);
          }
        }
        for (let at = 0; at < end + 10; at++) {
          const piece = hold.read(at, 7);
          assert.equal(piece !== undefined, model.has(at), `held at ${at}`);
          for (const [i, byte] of (piece ?? []).entries()) assert.equal(byte, model.get(at + i));
        }
      }),
      { seed: 17, numRuns: 300 },
    );
  });

  it("spills what does not fit in memory, and reads it back", () => {
    const spill = new MemorySpill();
    let opened = 0;
    const hold = new Hold(() => {
      opened += 1;
      return spill;
    });
    const fits = Math.floor(MAX_HELD_BYTES / (MIB + 128));
    for (let i = 0; i < fits; i++) hold.put(i * MIB, Buffer.alloc(MIB, i), false);
    assert.deepEqual([opened, hold.spilledBytes], [0, 0]);
    const large = Buffer.alloc(3 * MIB, 0xcc);
    hold.put(fits * MIB, large, false);
    hold.put((fits + 3) * MIB, Buffer.alloc(MIB, 0xdd), false);
    assert.deepEqual([opened, hold.spilledBytes], [1, 4 * MIB]);
    assert.ok(readAll(hold, fits * MIB, (fits + 3) * MIB)?.equals(large));
    assert.ok(readAll(hold, (fits - 1) * MIB, fits * MIB)?.equals(Buffer.alloc(MIB, fits - 1)));
    assert.equal(hold.read(fits * MIB, 3 * MIB)?.length, MIB, "in pieces");
    // A part of a spilled range is forgotten, its rest stays.
    hold.forget(fits * MIB, fits * MIB + 5);
    assert.equal(hold.read(fits * MIB, 1), undefined);
    assert.equal(hold.read(fits * MIB + 5, 1)?.[0], 0xcc);
    hold.close();
    hold.close();
    assert.equal(spill.closes, 1);
  });

  it("has room again for as much as was forgotten", () => {
    const hold = new Hold(noSpill);
    const piece = Buffer.alloc(MIB, 1);
    for (let i = 0; i < 500; i++) {
      hold.put(i * MIB, piece, false);
      // In three parts: first the middle.
      if (i < 20) continue;
      const start = (i - 20) * MIB;
      hold.forget(start + 1000, start + 2000);
      hold.forget(start, start + 1000);
      hold.forget(start + 2000, start + MIB);
    }
    assert.equal(hold.spilledBytes, 0);
    assert.throws(() => {
      for (let i = 500; i < 530; i++) hold.put(i * MIB, piece, false);
    }, /no place to spill/);
  });

  it("counts what many small ranges cost beside their bytes", () => {
    const hold = new Hold(noSpill);
    const one = Uint8Array.of(1);
    assert.throws(() => {
      for (let i = 0; i <= MAX_HELD_BYTES / 100; i++) hold.put(2 * i, one, false);
    }, /no place to spill/);
  });

  it("forgets tails of clusters once the stream is far ahead", () => {
    const hold = new Hold(noSpill);
    hold.put(1000, Uint8Array.of(1, 2), true);
    hold.put(5 * MIB, Uint8Array.of(3), true);
    hold.put(6000, Uint8Array.of(9), false);
    hold.forgetTails(17 * MIB + 2000);
    assert.equal(hold.read(1000, 1), undefined);
    assert.equal(hold.read(5 * MIB, 1)?.[0], 3);
    assert.equal(hold.read(6000, 1)?.[0], 9, "what is no tail stays");
  });
});
