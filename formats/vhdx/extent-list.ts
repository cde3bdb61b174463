/**
 * Gathers extents for one answer or announcement: merges neighbours, and says when there are enough.
 */
import { MAX_ANNOUNCED } from "../disk-format.ts";
import type { Extent } from "../disk-format.ts";

const MAX_INLINE = 1024 * 1024; // bytes of the log's overlay that one answer copies

export class ExtentList {
  readonly #extents: Extent[] = [];
  #inlineBytes = 0;

  get isEmpty(): boolean {
    return this.#extents.length === 0;
  }

  /** No more may be added. */
  get isFull(): boolean {
    return this.#extents.length >= MAX_ANNOUNCED || this.#inlineBytes >= MAX_INLINE;
  }

  addGap(kind: "hole" | "zero", offset: number, length: number): void {
    const last = this.#extents.at(-1);
    if (last?.kind === kind && last.offset + last.length === offset) {
      this.#extents[this.#extents.length - 1] = { kind, offset: last.offset, length: last.length + length };
    } else {
      this.#extents.push({ kind, offset, length });
    }
  }

  addPlain(offset: number, length: number, hostOffset: number): void {
    const last = this.#extents.at(-1);
    if (
      last?.kind === "data" &&
      last.stored.encoding === "plain" &&
      last.offset + last.length === offset &&
      last.stored.offset + last.length === hostOffset
    ) {
      this.#extents[this.#extents.length - 1] = plain(last.offset, last.length + length, last.stored.offset);
    } else {
      this.#extents.push(plain(offset, length, hostOffset));
    }
  }

  /** Copies the bytes: an extent belongs to whoever receives it. */
  addInline(offset: number, bytes: Uint8Array): void {
    this.#extents.push({
      kind: "data",
      offset,
      length: bytes.length,
      stored: { encoding: "inline", bytes: bytes.slice() },
    });
    this.#inlineBytes += bytes.length;
  }

  /** All that was added; the list is empty afterwards. */
  take(): readonly Extent[] {
    this.#inlineBytes = 0;
    return this.#extents.splice(0);
  }
}

function plain(offset: number, length: number, hostOffset: number): Extent {
  return { kind: "data", offset, length, stored: { encoding: "plain", offset: hostOffset, length } };
}
