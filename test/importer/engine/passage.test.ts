import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Hold } from "../../../importer/engine/hold.ts";
import { Passage } from "../../../importer/engine/passage.ts";
import type { LiveSlot } from "../../../importer/engine/passage.ts";
import { Slab, SLOT_LENGTH } from "../../../importer/engine/slab.ts";
import { streamOf } from "../../support/streams.ts";

const SLOTS = 6;
const file = Buffer.alloc(10 * SLOT_LENGTH + 777);
for (let at = 0; at + 4 <= file.length; at += 4096) file.writeUInt32LE(at / 4096 + 1, at);

function open(): { passage: Passage; hold: Hold; slab: Slab } {
  const slab = new Slab(SLOTS);
  const hold = new Hold(() => {
    throw new Error("no place to spill");
  });
  return {
    passage: new Passage(
      streamOf(file, (i) => 1 + ((i * 7919) % 200_000)),
      slab,
      hold,
    ),
    hold,
    slab,
  };
}

const noWait = (): Promise<void> => Promise.reject(new Error("no slot is free"));

async function advance(passage: Passage, times: number): Promise<void> {
  for (let i = 0; i < times; i++) assert.equal(await passage.advance(noWait), true);
}

function must(slot: LiveSlot | undefined): LiveSlot {
  assert.ok(slot !== undefined);
  return slot;
}

describe("Passage", () => {
  it("fills slot after slot, to the stream's end", async () => {
    const { passage, slab } = open();
    for (let i = 0; i < 11; i++) {
      assert.equal(await passage.advance(noWait), true);
      const slot = must(passage.slotAt(i * SLOT_LENGTH));
      assert.ok(
        slab.bytes
          .subarray(slot.slabAt, slot.slabAt + slot.end - slot.start)
          .equals(file.subarray(slot.start, slot.end)),
      );
    }
    assert.equal(passage.position, file.length);
    assert.equal(passage.ended, true);
    assert.equal(await passage.advance(noWait), false);
    assert.equal(passage.position, file.length);
  });

  it("gives copies from slots and hold as one, up to what is gone or has not come", async () => {
    const { passage } = open();
    await advance(passage, 8);
    const all = passage.gather(100, 8 * SLOT_LENGTH);
    assert.equal(all.length, 8 * SLOT_LENGTH - 100);
    assert.ok(file.subarray(100, 8 * SLOT_LENGTH).equals(all));
    passage.know(SLOT_LENGTH + 10, SLOT_LENGTH + 20, false);
    assert.equal(passage.gather(100, 8 * SLOT_LENGTH).length, SLOT_LENGTH + 10 - 100);
    assert.equal(passage.gather(SLOT_LENGTH + 20, 50).length, 50);
    assert.equal(passage.gather(8 * SLOT_LENGTH, 1).length, 0);
  });

  it("holds of a slot that must go only what nobody knows", async () => {
    const { passage, hold } = open();
    await advance(passage, 1);
    passage.know(0, 4096, false);
    passage.know(8192, 2 * SLOT_LENGTH, false);
    await advance(passage, 4);
    assert.equal(hold.read(0, 1), undefined);
    assert.ok(file.subarray(4096, 8192).equals(hold.read(4096, 8192) ?? Buffer.alloc(0)));
    assert.equal(hold.read(8192, 1), undefined);
    assert.equal(passage.slotAt(0), undefined, "its memory is free again");
  });

  it("holds nothing once nobody will ask", async () => {
    const { passage, hold } = open();
    passage.holding = false;
    await advance(passage, 8);
    assert.equal(hold.read(0, 1), undefined);
  });

  it("takes the short rest behind a compressed cluster for its tail, and forgets it", async () => {
    const { passage, hold } = open();
    await advance(passage, 1);
    passage.know(0, 8192, true);
    passage.know(8192 + 511, 20_000, false);
    passage.know(20_000 + 511, SLOT_LENGTH, false);
    await advance(passage, 4);
    assert.ok(hold.read(8192, 511) !== undefined);
    assert.ok(hold.read(20_000, 511) !== undefined);
    hold.forgetTails(40 * SLOT_LENGTH);
    assert.equal(hold.read(8192, 511), undefined, "behind a compressed one");
    assert.ok(hold.read(20_000, 511) !== undefined, "behind plain data");
  });

  it("keeps a slot that a job uses, and waits for one when all are used", async () => {
    const { passage, slab } = open();
    const used: LiveSlot[] = [];
    for (let i = 0; i < SLOTS; i++) {
      await advance(passage, 1);
      const slot = must(passage.slotAt(i * SLOT_LENGTH));
      passage.use(slot);
      used.push(slot);
    }
    let waits = 0;
    const came = await passage.advance(() => {
      waits += 1;
      // The third is still one of the recent ones: only with the first a slot is free.
      passage.release(must(used[waits === 1 ? 3 : 0]));
      return Promise.resolve();
    });
    assert.deepEqual([came, waits], [true, 2]);
    assert.equal(must(passage.slotAt(SLOTS * SLOT_LENGTH)).number, used[0]?.number);
    const second = must(used[1]);
    assert.ok(
      slab.bytes.subarray(second.slabAt, second.slabAt + SLOT_LENGTH).equals(file.subarray(second.start, second.end)),
    );
  });

  it("is at its end at once where there is nothing", async () => {
    const passage = new Passage(streamOf(new Uint8Array(0)), new Slab(1), open().hold);
    assert.equal(await passage.advance(noWait), false);
    assert.deepEqual([passage.position, passage.ended], [0, true]);
  });
});
