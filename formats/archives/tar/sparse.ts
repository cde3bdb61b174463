/**
 * Where a sparse member's map is, in GNU tar's four layouts (GNU tar manual, "Storing Sparse Files").
 *
 * Old GNU: type `S`; four entries in the header, then blocks of 21 while a flag says so. Pax 0.0 and 0.1: in the pax
 * header. Pax 1.0: decimal lines at the start of the member's content, padded to a block, and counted in its size.
 */
import { alignUp } from "../../bytes.ts";
import { FormatError } from "../../errors.ts";
import type { MemberExtent } from "../archive.ts";
import { parseDecimal, parseDecimalText } from "./decimal.ts";
import { BLOCK, readNumber } from "./header.ts";
import type { PaxKey, PaxRecords } from "./pax.ts";
import { endsInside, readUpTo } from "./reading.ts";
import type { Reading } from "./reading.ts";
import { MAX_SPARSE_ENTRIES, SparseMap, tooManyEntries } from "./sparse-map.ts";

export interface SparseContent {
  /** Of the member, holes included. */
  readonly size: number;
  readonly extents: readonly MemberExtent[];
  /** Where the next header is looked for, before rounding up to a block. */
  readonly end: number;
}

/** What is stored of a member, as its header says: the offset after the header block, and the bytes. */
export interface StoredContent {
  readonly offset: number;
  readonly size: number;
}

/** Fields of an old GNU header, and of its extension blocks. */
const HEADER_ENTRIES = { at: 386, count: 4, extendedAt: 482 };
const EXTENSION_ENTRIES = { at: 0, count: 21, extendedAt: 504 };
const REAL_SIZE = [483, 12] as const;
const ENTRY_LENGTH = 24; // offset and length, 12 bytes each

/**
 * The old GNU layout.
 * @param header the member's header block, in a copy
 * @throws FormatError FORMAT_CORRUPT, FORMAT_OUT_OF_BOUNDS
 */
export function* readOldGnu(header: Uint8Array, stored: StoredContent): Reading<SparseContent> {
  const map = new SparseMap();
  const size = readNumber(header, REAL_SIZE, `the real size in the tar header at ${stored.offset - BLOCK}`);
  let dataOffset = stored.offset;
  let extended = addEntries(map, header, HEADER_ENTRIES);
  while (extended) {
    const block = yield* readUpTo(dataOffset, BLOCK);
    if (block.length < BLOCK) throw endsInside(dataOffset + block.length, "a sparse map");
    extended = addEntries(map, block, EXTENSION_ENTRIES);
    dataOffset += BLOCK;
  }
  return { size, extents: map.extents(size, dataOffset, stored.size), end: dataOffset + stored.size };
}

/** Adds a block's entries, up to the first that is empty; says whether an extension block follows. */
function addEntries(map: SparseMap, block: Uint8Array, layout: typeof HEADER_ENTRIES): boolean {
  for (let index = 0; index < layout.count; index++) {
    const at = layout.at + index * ENTRY_LENGTH;
    if (block[at + 12] === 0) break;
    const offset = readNumber(block, [at, 12], "an offset in a sparse map");
    map.add(offset, readNumber(block, [at + 12, 12], "a length in a sparse map"));
  }
  return block[layout.extendedAt] !== 0;
}

/**
 * The pax layouts.
 * @returns undefined if the records do not make the member a sparse one
 * @throws FormatError FORMAT_CORRUPT, FORMAT_OUT_OF_BOUNDS, FORMAT_UNSUPPORTED for a version above 1.0
 */
export function* readPaxSparse(pax: PaxRecords, stored: StoredContent): Reading<SparseContent | undefined> {
  const major = numberOf(pax, "GNU.sparse.major");
  const minor = numberOf(pax, "GNU.sparse.minor");
  const size = numberOf(pax, "GNU.sparse.realsize") ?? numberOf(pax, "GNU.sparse.size");
  if ((major === undefined || major === 0) && pax.sparse === undefined && size === undefined) return undefined;
  if (size === undefined) throw new FormatError("FORMAT_CORRUPT", "a sparse member's pax header has no real size");
  if (major === undefined || (major === 0 && (minor ?? 0) <= 1)) return fromHeader(pax, size, stored);
  if (major !== 1 || (minor ?? 0) !== 0) {
    throw new FormatError("FORMAT_UNSUPPORTED", `GNU sparse format ${major}.${minor ?? 0} is not known`, {
      remedy: "Unpack the archive with tar first.",
    });
  }
  const { map, length } = yield* readMapInContent(stored);
  const extents = map.extents(size, stored.offset + length, stored.size - length);
  return { size, extents, end: stored.offset + stored.size };
}

function fromHeader(pax: PaxRecords, size: number, stored: StoredContent): SparseContent {
  const map = pax.sparse ?? new SparseMap();
  const count = numberOf(pax, "GNU.sparse.numblocks");
  if (count !== undefined && count !== map.entries) {
    throw new FormatError(
      "FORMAT_CORRUPT",
      `a sparse map has ${map.entries} entries, GNU.sparse.numblocks is ${count}`,
    );
  }
  return { size, extents: map.extents(size, stored.offset, stored.size), end: stored.offset + stored.size };
}

function numberOf(pax: PaxRecords, key: PaxKey): number | undefined {
  const text = pax.values.get(key);
  return text === undefined ? undefined : parseDecimalText(text, key);
}

/** The longest line of a 1.0 map: 16 digits, some zeros before them, and a newline. */
const MAX_LINE = 32;

/** The most that is asked for at once. */
const MAX_STEP = 1024 * 1024;

/**
 * Version 1.0: the count of entries, then offset and length of each, a line a number.
 *
 * Bytes of the content must not be asked for here. So many blocks are read at once as the numbers still owed take at the
 * least (a digit and a newline each), which are surely part of the map.
 */
function* readMapInContent(stored: StoredContent): Reading<{ readonly map: SparseMap; readonly length: number }> {
  const map = new SparseMap();
  let owed: number | undefined; // numbers after the count; undefined before the count is known
  let offsetOfEntry: number | undefined;
  let line = new Uint8Array(0);
  let length = 0;
  while (owed === undefined || owed > 0) {
    const step = Math.min(MAX_STEP, alignUp(Math.max(1, 2 * (owed ?? 0) - line.length), BLOCK), stored.size - length);
    if (step <= 0)
      throw new FormatError("FORMAT_CORRUPT", `a sparse map is longer than the ${stored.size} bytes stored`);
    const bytes = yield* readUpTo(stored.offset + length, step);
    if (bytes.length < step) throw endsInside(stored.offset + length + bytes.length, "a sparse map");
    length += bytes.length;
    let at = 0;
    while (owed === undefined || owed > 0) {
      const newline = bytes.indexOf(0x0a, at);
      if (newline < 0) break;
      const number = parseDecimal(joined(line, bytes.subarray(at, newline)), "a number of a sparse map");
      line = new Uint8Array(0);
      at = newline + 1;
      if (owed === undefined) {
        if (number > MAX_SPARSE_ENTRIES) throw tooManyEntries();
        owed = 2 * number;
        continue;
      }
      owed--;
      if (offsetOfEntry === undefined) {
        offsetOfEntry = number;
      } else {
        map.add(offsetOfEntry, number);
        offsetOfEntry = undefined;
      }
    }
    if (owed === 0) break;
    line = joined(line, bytes.subarray(at));
    if (line.length > MAX_LINE) throw new FormatError("FORMAT_CORRUPT", "a sparse map has a line that is no number");
  }
  return { map, length };
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}
