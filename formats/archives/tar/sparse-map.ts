/**
 * The map of a sparse member: which ranges of it the archive stores, in any of GNU tar's four layouts.
 *
 * The stored ranges follow each other from the member's first data block. GNU tar starts each of them at a block, which
 * matters only where one that is not the last has a length that is no multiple of 512.
 */
import { alignUp } from "../../bytes.ts";
import { FormatError } from "../../errors.ts";
import type { MemberExtent } from "../archive.ts";
import { BLOCK } from "./header.ts";

/** A map of a disk in 256 Ki pieces; as extents they take about 25 MB, and no driver needs two such members at once. */
export const MAX_SPARSE_ENTRIES = 256 * 1024;

export class SparseMap {
  // Offset and length take turns: 16 bytes an entry, where an object has 64 or more.
  readonly #numbers: number[] = [];

  get entries(): number {
    return this.#numbers.length / 2;
  }

  /**
   * @param offset in the member
   * @param length stored bytes; 0 only marks the end of the member
   * @throws FormatError FORMAT_CORRUPT if it does not lie behind the entry before it, FORMAT_OUT_OF_BOUNDS beyond limits
   */
  add(offset: number, length: number): void {
    const count = this.#numbers.length;
    if (count >= 2 * MAX_SPARSE_ENTRIES) throw tooManyEntries();
    const end = count === 0 ? 0 : (this.#numbers[count - 2] ?? 0) + (this.#numbers[count - 1] ?? 0);
    if (offset < end) {
      throw new FormatError(
        "FORMAT_CORRUPT",
        `a sparse map has an entry at ${offset}, before the end ${end} of the last`,
      );
    }
    if (!Number.isSafeInteger(offset + length)) {
      throw new FormatError("FORMAT_OUT_OF_BOUNDS", `a sparse map has an entry that ends above 2^53 - 1`);
    }
    this.#numbers.push(offset, length);
  }

  /**
   * The member's extents; neighbours are merged.
   * @param size of the member, holes included
   * @param dataOffset where the stored ranges start in the archive
   * @param storedSize how many bytes the header says are stored there
   * @throws FormatError FORMAT_CORRUPT if the map leaves the member, or does not take the blocks that are stored
   */
  extents(size: number, dataOffset: number, storedSize: number): MemberExtent[] {
    const extents: MemberExtent[] = [];
    let hostOffset = dataOffset;
    for (let at = 0; at < this.#numbers.length; at += 2) {
      const offset = this.#numbers[at] ?? 0;
      const length = this.#numbers[at + 1] ?? 0;
      if (offset + length > size) {
        throw new FormatError("FORMAT_CORRUPT", `a sparse map ends at ${offset + length}, the member at ${size}`);
      }
      hostOffset = alignUp(hostOffset, BLOCK);
      if (length > 0) append(extents, { offset, length, hostOffset });
      hostOffset += length;
    }
    if (alignUp(hostOffset - dataOffset, BLOCK) !== alignUp(storedSize, BLOCK)) {
      throw new FormatError(
        "FORMAT_CORRUPT",
        `a sparse map takes ${hostOffset - dataOffset} stored bytes, the header says ${storedSize}`,
      );
    }
    return extents;
  }
}

export function tooManyEntries(): FormatError {
  return new FormatError("FORMAT_OUT_OF_BOUNDS", `a sparse map has more than ${MAX_SPARSE_ENTRIES} entries`, {
    remedy: "Unpack the archive with tar first.",
  });
}

function append(extents: MemberExtent[], extent: MemberExtent): void {
  const last = extents.at(-1);
  if (
    last?.offset === undefined ||
    last.offset + last.length !== extent.offset ||
    last.hostOffset + last.length !== extent.hostOffset
  ) {
    extents.push(extent);
  } else {
    extents[extents.length - 1] = { ...last, length: last.length + extent.length };
  }
}
