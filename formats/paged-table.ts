/**
 * A table of 32-bit entries in the image file (a VDI's block map, a VHD's BAT, a VMDK's grain directory), read a page at
 * a time, so that a map of a whole large disk is never held.
 */
import { ask } from "./ask.ts";
import type { Asking } from "./ask.ts";
import { viewOf } from "./bytes.ts";

const PAGE_ENTRIES = 16 * 1024; // 64 KiB of the file
const CACHED_PAGES = 4; // several drivers of one image walk it at different places

export interface TableLocation {
  /** Host offset of the first entry, in bytes. */
  readonly hostOffset: number;
  /** How many entries there are; checked against a limit of the format. */
  readonly entryCount: number;
  readonly littleEndian: boolean;
}

export interface TablePage {
  /** Index in the table of the first entry of the page. */
  readonly first: number;
  readonly entries: Uint32Array;
}

export class PagedTable {
  readonly #location: TableLocation;
  readonly #pages = new Map<number, TablePage>();

  constructor(location: TableLocation) {
    this.#location = location;
  }

  /** The page that holds entry `index`, which must be below the entry count. */
  *pageOf(index: number): Asking<TablePage> {
    const number = Math.floor(index / PAGE_ENTRIES);
    const cached = this.#pages.get(number);
    if (cached !== undefined) return cached;
    const page = yield* this.#read(number * PAGE_ENTRIES);
    if (this.#pages.size >= CACHED_PAGES) {
      for (const oldest of this.#pages.keys()) {
        this.#pages.delete(oldest);
        break;
      }
    }
    this.#pages.set(number, page);
    return page;
  }

  /** One entry, through the same pages. */
  *entry(index: number): Asking<number> {
    const page = yield* this.pageOf(index);
    return page.entries[index - page.first] ?? 0;
  }

  *#read(first: number): Asking<TablePage> {
    const { hostOffset, entryCount, littleEndian } = this.#location;
    const count = Math.min(PAGE_ENTRIES, entryCount - first);
    const bytes = yield* ask({ offset: hostOffset + first * 4, length: count * 4 });
    return { first, entries: decodeEntries(bytes, littleEndian) };
  }
}

/** The 32-bit numbers in `bytes`, as a copy. */
export function decodeEntries(bytes: Uint8Array, littleEndian: boolean): Uint32Array {
  const view = viewOf(bytes);
  const entries = new Uint32Array(Math.floor(bytes.length / 4));
  for (let i = 0; i < entries.length; i++) entries[i] = view.getUint32(i * 4, littleEndian);
  return entries;
}
