/**
 * The part of a stream that is in memory: fills slots, remembers which of their bytes somebody knows, and moves what nobody
 * knows yet into the hold when a slot is needed again.
 */
import { readFully } from "../../formats/byte-stream.ts";
import type { ByteStream } from "../../formats/byte-stream.ts";
import type { Hold } from "./hold.ts";
import { SLOT_LENGTH } from "./slab.ts";
import type { Slab } from "./slab.ts";

/** So many slots stay where they are before their unknown bytes are copied: raw, and most formats, know them by then. */
const RECENT_SLOTS = 4;

/** The stored length of a compressed cluster is an upper bound, in sectors: so many of its last bytes may be the next one's. */
export const UNSURE_TAIL = 511;

export interface LiveSlot {
  readonly number: number;
  /** Host offset of its first byte. */
  readonly start: number;
  readonly end: number;
  /** Position of its first byte in the slab. */
  readonly slabAt: number;
  /** [start, end, is it encoded] of what somebody knows. */
  readonly known: (readonly [number, number, boolean])[];
  /** Jobs that still need its bytes. */
  users: number;
  retired: boolean;
}

export class Passage {
  /** Bytes of the stream so far. */
  position = 0;
  ended = false;
  /** Once nobody will ask for unknown bytes any more, they are dropped instead of held. */
  holding = true;
  readonly #stream: ByteStream;
  readonly #slab: Slab;
  readonly #hold: Hold;
  readonly #recent: LiveSlot[] = [];
  #live: LiveSlot[] = [];

  constructor(stream: ByteStream, slab: Slab, hold: Hold) {
    this.#stream = stream;
    this.#slab = slab;
    this.#hold = hold;
  }

  /**
   * Reads the next slot.
   * @param waitForSlot called while all slots are in use; resolves when it is worth another try
   * @param enough bytes that are worth a slot, while little is known and much may be refused; default: a slot is read full
   * @returns false at the end of the stream
   */
  async advance(waitForSlot: () => Promise<void>, enough = SLOT_LENGTH): Promise<boolean> {
    if (this.ended) return false;
    while (this.#recent.length >= RECENT_SLOTS) this.#retireOldest();
    let number = this.#slab.take();
    while (number === undefined) {
      await waitForSlot();
      number = this.#slab.take();
    }
    const wanted = Math.min(enough, SLOT_LENGTH);
    const count = await readFully(this.#stream, this.#slab.view(number), wanted);
    if (count < wanted) this.ended = true;
    if (count === 0) {
      this.#slab.release(number);
      return false;
    }
    const slot: LiveSlot = {
      number,
      start: this.position,
      end: this.position + count,
      slabAt: this.#slab.positionOf(number),
      known: [],
      users: 0,
      retired: false,
    };
    this.position += count;
    this.#recent.push(slot);
    this.#live.push(slot);
    this.#hold.forgetTails(this.position);
    return true;
  }

  /** The slot in memory that has the byte at `offset`. */
  slotAt(offset: number): LiveSlot | undefined {
    return this.#live.find((slot) => slot.start <= offset && offset < slot.end);
  }

  /** Somebody knows what [start, end) is for: it need not be held. */
  know(start: number, end: number, encoded: boolean): void {
    for (const slot of this.#recent) {
      const from = Math.max(start, slot.start);
      const to = Math.min(end, slot.end);
      if (from < to) slot.known.push([from, to, encoded]);
    }
    this.#hold.forget(start, end);
  }

  /**
   * A copy of [offset, offset + length), from slots and hold, cut short at the first byte that is gone or has not come.
   */
  gather(offset: number, length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    let done = 0;
    while (done < length) {
      const piece = this.#piece(offset + done, length - done);
      if (piece === undefined) break;
      bytes.set(piece, done);
      done += piece.length;
    }
    return bytes.subarray(0, done);
  }

  use(slot: LiveSlot): void {
    slot.users += 1;
  }

  release(slot: LiveSlot): void {
    slot.users -= 1;
    this.#freeIfUnused(slot);
  }

  #piece(offset: number, length: number): Uint8Array | undefined {
    const slot = this.slotAt(offset);
    if (slot === undefined) return this.#hold.read(offset, length);
    const from = slot.slabAt + offset - slot.start;
    return this.#slab.bytes.subarray(from, from + Math.min(length, slot.end - offset));
  }

  #retireOldest(): void {
    const slot = this.#recent.shift();
    if (slot === undefined) return;
    slot.retired = true;
    if (this.holding) this.#holdUnknown(slot);
    this.#freeIfUnused(slot);
  }

  #holdUnknown(slot: LiveSlot): void {
    slot.known.sort((a, b) => a[0] - b[0]);
    let at = slot.start;
    let afterEncoded = false;
    for (const [start, end, encoded] of [...slot.known, [slot.end, slot.end, false] as const]) {
      if (start > at) {
        const from = slot.slabAt + at - slot.start;
        const isTail = afterEncoded && start - at <= UNSURE_TAIL;
        this.#hold.put(at, this.#slab.bytes.subarray(from, from + start - at), isTail);
      }
      if (end > at) {
        at = end;
        afterEncoded = encoded;
      }
    }
  }

  #freeIfUnused(slot: LiveSlot): void {
    if (!slot.retired || slot.users > 0) return;
    this.#live = this.#live.filter((other) => other !== slot);
    this.#slab.release(slot.number);
  }
}
