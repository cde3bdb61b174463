/**
 * The block allocation table ([MS-VHDX] 2.5): a 64-bit entry for each payload block, with its state and place.
 *
 * After every `chunk ratio` payload entries comes the entry of a sector bitmap, which only differencing disks use. The
 * table of 64 TiB in blocks of 1 MiB has 512 MiB, so it is read a page at a time and only the last few pages are kept.
 *
 * States that read as zeros: NOT_PRESENT, UNDEFINED and UNMAPPED (holes, as qemu-img reads them; what the file may still
 * hold there is not trusted) and ZERO. State 5 was UNMAPPED in drafts of the specification, and qemu reads it so.
 */
import { hex, MIB, viewOf } from "../bytes.ts";
import type { Parsing } from "../disk-format.ts";
import { FormatError } from "../errors.ts";
import type { HostFile } from "./host-file.ts";
import type { DiskParameters } from "./metadata.ts";
import type { Region } from "./region-table.ts";

const ENTRY_LENGTH = 8;
const SECTORS_PER_BITMAP = 2 ** 23; // a sector bitmap block has 1 MiB

/** What is read and sorted at once: the entries of 128 GiB with blocks of 1 MiB, of 4 TiB with Hyper-V's 32 MiB. */
export const BAT_PAGE_LENGTH = MIB;
const ENTRIES_PER_PAGE = BAT_PAGE_LENGTH / ENTRY_LENGTH;
const CACHED_PAGES = 4;

const PAYLOAD_BLOCK_ZERO = 2;
const PAYLOAD_BLOCK_FULLY_PRESENT = 6;
const PAYLOAD_BLOCK_PARTIALLY_PRESENT = 7;
const RESERVED_STATE = 4;
const STATE_MASK = 7;

const TWO_32 = 0x1_0000_0000;
const MAX_HIGH_HALF = 0x1f_ffff; // of an offset up to 2^53 - 1

/** Where a block's bytes are. */
export type BlockKind = "hole" | "zero" | "data";

export class Bat {
  readonly blockCount: number;
  readonly #file: HostFile;
  readonly #offset: number;
  readonly #entryCount: number;
  readonly #chunkRatio: number;
  readonly #pages = new Map<number, Uint8Array>(); // by page, the last used last

  /**
   * @param start the table's first bytes, up to a page, if they are read already
   * @throws FormatError FORMAT_CORRUPT if the region is too short for the disk
   */
  constructor(file: HostFile, region: Region, disk: DiskParameters, start: Uint8Array | undefined) {
    this.#file = file;
    this.#offset = region.offset;
    this.#chunkRatio = (SECTORS_PER_BITMAP * disk.logicalSectorSize) / disk.blockSize;
    this.blockCount = Math.ceil(disk.virtualSize / disk.blockSize);
    this.#entryCount = this.blockCount === 0 ? 0 : this.#indexOf(this.blockCount - 1) + 1;
    if (this.#entryCount * ENTRY_LENGTH > region.length) {
      throw new FormatError(
        "FORMAT_CORRUPT",
        `the BAT has ${region.length} bytes, but the disk's ${this.blockCount} blocks need ${this.#entryCount * ENTRY_LENGTH}`,
        {
          remedy: "The file is damaged; take another copy of it.",
        },
      );
    }
    const firstPage = Math.min(ENTRIES_PER_PAGE, this.#entryCount) * ENTRY_LENGTH;
    if (start !== undefined && start.length >= firstPage) this.#pages.set(0, start.subarray(0, firstPage));
  }

  /** The page that holds the entry of `block`, which must be below `blockCount`. */
  *pageOf(block: number): Parsing<BatPage> {
    const number = Math.floor(this.#indexOf(block) / ENTRIES_PER_PAGE);
    const firstIndex = number * ENTRIES_PER_PAGE;
    let bytes = this.#pages.get(number);
    if (bytes === undefined) {
      const length = Math.min(ENTRIES_PER_PAGE, this.#entryCount - firstIndex) * ENTRY_LENGTH;
      bytes = yield* this.#file.read(this.#offset + firstIndex * ENTRY_LENGTH, length);
    }
    this.#pages.delete(number);
    this.#pages.set(number, bytes);
    for (const oldest of this.#pages.keys()) {
      if (this.#pages.size <= CACHED_PAGES) break;
      this.#pages.delete(oldest);
    }
    const endIndex = firstIndex + bytes.length / ENTRY_LENGTH;
    return new BatPage(viewOf(bytes), firstIndex, this.#chunkRatio, this.#blocksBefore(endIndex));
  }

  #indexOf(block: number): number {
    return block + Math.floor(block / this.#chunkRatio);
  }

  /** How many payload blocks have their entries before that index. */
  #blocksBefore(index: number): number {
    return Math.min(this.blockCount, index - Math.floor(index / (this.#chunkRatio + 1)));
  }
}

/** A part of the table, in memory. */
export class BatPage {
  /** The first block whose entry is not in this page any more. */
  readonly endBlock: number;
  readonly #view: DataView;
  readonly #firstIndex: number;
  readonly #chunkRatio: number;

  constructor(view: DataView, firstIndex: number, chunkRatio: number, endBlock: number) {
    this.#view = view;
    this.#firstIndex = firstIndex;
    this.#chunkRatio = chunkRatio;
    this.endBlock = endBlock;
  }

  /** @throws FormatError FORMAT_CORRUPT for a state that a disk without a parent must not have */
  kindOf(block: number): BlockKind {
    const state = this.#view.getUint8(this.#at(block)) & STATE_MASK;
    if (state === PAYLOAD_BLOCK_FULLY_PRESENT) return "data";
    if (state === PAYLOAD_BLOCK_ZERO) return "zero";
    if (state === RESERVED_STATE || state === PAYLOAD_BLOCK_PARTIALLY_PRESENT) {
      const what =
        state === RESERVED_STATE ? "a reserved state" : "partially present, which only a differencing disk's can be";
      throw new FormatError("FORMAT_CORRUPT", `block ${block} is in state ${state}: ${what}`, {
        remedy: "The file is damaged; take another copy of it.",
      });
    }
    return "hole";
  }

  /**
   * The host offset of a block of kind `data`; a multiple of 1 MiB.
   * @throws FormatError FORMAT_CORRUPT beyond 2^53
   */
  hostOffsetOf(block: number): number {
    const at = this.#at(block);
    const high = this.#view.getUint32(at + 4, true);
    const low = this.#view.getUint32(at, true);
    if (high > MAX_HIGH_HALF) {
      throw new FormatError(
        "FORMAT_CORRUPT",
        `block ${block} lies at host offset ${hex(high)}${low.toString(16).padStart(8, "0")}, outside any file`,
      );
    }
    return high * TWO_32 + (low - (low % MIB));
  }

  /**
   * The first block from `block` on that is in another state; `end` or the page's end if none is. Steps through the table
   * without a division for each block, since the table of an empty disk of 64 TiB is one run of 67 million.
   */
  endOfRun(block: number, end: number): number {
    const limit = Math.min(end, this.endBlock);
    const state = this.#view.getUint8(this.#at(block)) & STATE_MASK;
    let next = block;
    while (next < limit) {
      const chunkEnd = Math.min(limit, next - (next % this.#chunkRatio) + this.#chunkRatio);
      let at = this.#at(next);
      for (; next < chunkEnd; next++, at += ENTRY_LENGTH) {
        if ((this.#view.getUint8(at) & STATE_MASK) !== state) return next;
      }
    }
    return next;
  }

  #at(block: number): number {
    return (block + Math.floor(block / this.#chunkRatio) - this.#firstIndex) * ENTRY_LENGTH;
  }
}
