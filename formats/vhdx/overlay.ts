/**
 * What the log's replay would write to the file, kept in memory: the file itself is never touched.
 *
 * Sectors of 4 KiB with their bytes, and ranges of zeros. It is filled from the newest update to the oldest, so that an
 * update that comes later never hides one that is there: sectors win over zeros, and a sector that is covered already is
 * dropped. Its size is bounded by MAX_LOG_LENGTH (each sector lies in the log) and MAX_ZERO_DESCRIPTORS.
 */
import { alignDown } from "../bytes.ts";

/** The unit of the log's updates. */
export const LOG_SECTOR = 4096;

/** A piece of a host range: as the file has it, replaced by bytes, or replaced by zeros. */
export interface Piece {
  readonly kind: "file" | "bytes" | "zero";
  readonly length: number;
  /** Only and always with kind `bytes`; belongs to the overlay. */
  readonly bytes?: Uint8Array;
}

export class LogOverlay {
  readonly #sectors = new Map<number, Uint8Array>();
  readonly #sectorOffsets: number[] = []; // ascending once sealed
  readonly #zeroStarts: number[] = []; // ascending, disjoint, not touching
  readonly #zeroEnds: number[] = [];
  #fileSize = 0;

  /** The file's length after replay is at least this. */
  get fileSize(): number {
    return this.#fileSize;
  }

  growTo(fileSize: number): void {
    this.#fileSize = Math.max(this.#fileSize, fileSize);
  }

  /** Adds an update that is older than all added before. `bytes` is a sector, and kept. */
  addOlderSector(offset: number, bytes: Uint8Array): void {
    this.growTo(offset + LOG_SECTOR);
    if (this.#sectors.has(offset) || this.#zerosCover(offset)) return;
    this.#sectors.set(offset, bytes);
    this.#sectorOffsets.push(offset);
  }

  /** Adds zeros that are older than all updates added before. */
  addOlderZeros(start: number, end: number): void {
    if (end <= start) return;
    this.growTo(end);
    const from = upperBound(this.#zeroEnds, start - 1); // the first range that ends at or after the start
    const to = upperBound(this.#zeroStarts, end); // the first that starts after the end
    const newStart = Math.min(start, from < to ? (this.#zeroStarts[from] ?? start) : start);
    const newEnd = Math.max(end, from < to ? (this.#zeroEnds[to - 1] ?? end) : end);
    this.#zeroStarts.splice(from, to - from, newStart);
    this.#zeroEnds.splice(from, to - from, newEnd);
  }

  /** To be called once, after the last addition and before the first question. */
  seal(): void {
    this.#sectorOffsets.sort((a, b) => a - b);
  }

  /** The piece that starts at `offset`, cut at `end`. */
  pieceAt(offset: number, end: number): Piece {
    const sectorOffset = alignDown(offset, LOG_SECTOR);
    const sector = this.#sectors.get(sectorOffset);
    if (sector !== undefined) {
      const bytes = sector.subarray(offset - sectorOffset, Math.min(LOG_SECTOR, end - sectorOffset));
      return { kind: "bytes", length: bytes.length, bytes };
    }
    const nextSector = this.#sectorOffsets[upperBound(this.#sectorOffsets, offset)] ?? end;
    const limit = Math.min(end, nextSector);
    const i = upperBound(this.#zeroEnds, offset); // the first range that ends after the offset
    const zeroStart = this.#zeroStarts[i] ?? limit;
    const zeroEnd = this.#zeroEnds[i] ?? limit;
    if (zeroStart <= offset && zeroEnd > offset) return { kind: "zero", length: Math.min(limit, zeroEnd) - offset };
    return { kind: "file", length: Math.min(limit, zeroStart) - offset };
  }

  /** Applies the updates to bytes that were read at `offset`. */
  patch(bytes: Uint8Array, offset: number): void {
    for (let at = 0; at < bytes.length;) {
      const piece = this.pieceAt(offset + at, offset + bytes.length);
      if (piece.bytes !== undefined) bytes.set(piece.bytes, at);
      else if (piece.kind === "zero") bytes.fill(0, at, at + piece.length);
      at += piece.length;
    }
  }

  #zerosCover(offset: number): boolean {
    const i = upperBound(this.#zeroEnds, offset);
    const start = this.#zeroStarts[i];
    return start !== undefined && start <= offset;
  }
}

/** The index of the first element of an ascending list that is above `value`. */
function upperBound(ascending: readonly number[], value: number): number {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ascending[middle] ?? 0) <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}
