/**
 * Keeps copies of the tables that were read last, so that a walk over the disk in small steps asks for each only once.
 *
 * Bounded in bytes; the one used longest ago goes first. Several walks may share it: each gets a view that stays valid
 * however long it keeps it, and at worst a table is asked for twice.
 */
import { viewOf } from "../bytes.ts";
import type { Parsing } from "../disk-format.ts";

export class TableCache {
  readonly #limit: number;
  readonly #views = new Map<number, DataView>();
  #held = 0;

  /** @param limit bytes that may be held, one table more than that while it is the only one */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /**
   * The table at a host offset.
   * @param length bytes of it that are wanted; the answer may hold more
   */
  *read(offset: number, length: number): Parsing<DataView> {
    const found = this.#views.get(offset);
    if (found !== undefined && found.byteLength >= length) {
      this.#views.delete(offset);
      this.#views.set(offset, found);
      return found;
    }
    const view = viewOf(new Uint8Array(yield { offset, length }));
    this.#forget(offset); // shorter, or read by another walk meanwhile
    this.#views.set(offset, view);
    this.#held += length;
    for (const oldest of this.#views.keys()) {
      if (this.#held <= this.#limit || oldest === offset) break;
      this.#forget(oldest);
    }
    return view;
  }

  #forget(offset: number): void {
    this.#held -= this.#views.get(offset)?.byteLength ?? 0;
    this.#views.delete(offset);
  }
}
