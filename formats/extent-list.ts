/**
 * A list of extents in the making, for an answer of `extents` or an announcement of `scan`: cut to a range of the disk,
 * neighbours merged, bounded in length.
 *
 * Neighbours merge if they are of one kind and adjoin on the disk, and either both have a place in the host file and
 * adjoin there, or neither has one. Encoded and inline extents stay alone. Until it ends, an extent is four numbers, not an
 * object: a table of 8192 clusters is usually a handful of extents.
 */
import { MAX_ANNOUNCED } from "./disk-format.ts";
import type { EncodedStored, Extent } from "./disk-format.ts";

/** The host offset of what has no place in the image file. */
export const NOWHERE = -1;

/** Bytes of inline extents that one list copies. */
const MAX_INLINE = 1024 * 1024;

export interface ExtentListOptions {
  /** Virtual offsets: what lies outside [start, end) is left out. Default: nothing is. */
  readonly start?: number;
  readonly end?: number;
  /** False to leave holes out. Default: they stay. */
  readonly holes?: boolean;
}

export class ExtentList {
  readonly #start: number;
  readonly #end: number;
  readonly #holes: boolean;
  #extents: Extent[] = [];
  #inlineBytes = 0;
  #kind: Extent["kind"] = "hole";
  #offset = 0;
  #length = 0; // 0: none in the making
  #host = NOWHERE;

  constructor(options: ExtentListOptions = {}) {
    this.#start = options.start ?? 0;
    this.#end = options.end ?? Infinity;
    this.#holes = options.holes ?? true;
  }

  get isEmpty(): boolean {
    return this.#extents.length === 0 && this.#length === 0;
  }

  /** Whether `more` calls of the add methods still fit in an announcement. */
  hasRoom(more = 1): boolean {
    return this.#extents.length + 1 + more <= MAX_ANNOUNCED && this.#inlineBytes < MAX_INLINE;
  }

  /** @param host host offset of the first byte; data has one, holes and zeros may */
  add(kind: Extent["kind"], offset: number, length: number, host = NOWHERE): void {
    if (kind === "hole" && !this.#holes) return;
    const from = Math.max(offset, this.#start);
    const size = Math.min(offset + length, this.#end) - from;
    if (size <= 0) return;
    const hostFrom = host === NOWHERE ? NOWHERE : host + (from - offset);
    if (this.#length > 0) {
      const hostNext = this.#host === NOWHERE ? NOWHERE : this.#host + this.#length;
      if (kind === this.#kind && from === this.#offset + this.#length && hostFrom === hostNext) {
        this.#length += size;
        return;
      }
      this.#close();
    }
    this.#kind = kind;
    this.#offset = from;
    this.#length = size;
    this.#host = hostFrom;
  }

  /** Encoded bytes: the extent is decoded[stored.skip, stored.skip + length). */
  addEncoded(offset: number, length: number, stored: EncodedStored): void {
    this.#close();
    const from = Math.max(offset, this.#start);
    const size = Math.min(offset + length, this.#end) - from;
    if (size <= 0) return;
    const skip = stored.skip + from - offset;
    this.#extents.push({ kind: "data", offset: from, length: size, stored: { ...stored, skip } });
  }

  /** Copies the bytes: an extent belongs to whoever receives it. They lie inside the range. */
  addInline(offset: number, bytes: Uint8Array): void {
    this.#close();
    const stored = { encoding: "inline", bytes: bytes.slice() } as const;
    this.#extents.push({ kind: "data", offset, length: bytes.length, stored });
    this.#inlineBytes += bytes.length;
  }

  /** All that was added; the list is empty afterwards. */
  finish(): readonly Extent[] {
    this.#close();
    const extents = this.#extents;
    this.#extents = [];
    this.#inlineBytes = 0;
    return extents;
  }

  #close(): void {
    const length = this.#length;
    if (length === 0) return;
    const kind = this.#kind;
    const offset = this.#offset;
    const host = this.#host;
    this.#length = 0;
    if (kind === "data") this.#extents.push(plainExtent(offset, length, host));
    else this.#extents.push(host === NOWHERE ? { kind, offset, length } : { kind, offset, length, hostOffset: host });
  }
}

export function plainExtent(offset: number, length: number, hostOffset: number): Extent {
  return { kind: "data", offset, length, stored: { encoding: "plain", offset: hostOffset, length } };
}
