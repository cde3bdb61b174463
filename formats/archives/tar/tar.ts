/**
 * Tar: POSIX ustar and pax, GNU tar's long names, big numbers and four sparse layouts, and v7.
 *
 * The specifications are POSIX.1 "pax" and the GNU tar manual ("Tar Internals"). As an archive it announces regular files;
 * links, folders, devices and labels are passed over, whatever size they claim. `tarEntries` announces them too: a layer of
 * a container image is made of them. The archive ends at two blocks of zeros, or at
 * the end of the file between two members, as tar accepts it. Not supported: members continued on another volume, and
 * star's sparse layout; both are refused by name.
 *
 * A member whose content is cut off cannot be seen from its headers: drivers check it (`member-end.ts`).
 */
import { alignUp } from "../../bytes.ts";
import type { Need } from "../../disk-format.ts";
import { FormatError } from "../../errors.ts";
import type { Archive, Member } from "../archive.ts";
import { BLOCK, isZero, readHeader, startsAsTar, textToNul } from "./header.ts";
import type { TarHeader } from "./header.ts";
import { MAX_PAX_LENGTH, mergePax, NO_RECORDS, parsePax } from "./pax.ts";
import type { PaxRecords } from "./pax.ts";
import { parseDecimalText } from "./decimal.ts";
import { endsInside, readCopy, readUpTo } from "./reading.ts";
import type { Reading } from "./reading.ts";
import { readOldGnu, readPaxSparse } from "./sparse.ts";
import type { SparseContent } from "./sparse.ts";

/** Headers of any kind in one archive. A container's root file system has some ten thousands. */
const MAX_ENTRIES = 256 * 1024;

/** A GNU long name; Linux allows 4096 bytes in a path. */
const MAX_LONG_NAME = 64 * 1024;

/** Types without content, whatever their size field says: links, devices, folders, pipes. */
const WITHOUT_CONTENT = "123456";
const REGULAR = "\0" + "07S";

export const tar: Archive = { name: "tar", probe: startsAsTar, members };

/** What an entry is; `other` are devices, pipes and whatever else has a header. */
export type TarKind = "file" | "hard-link" | "symbolic-link" | "folder" | "other";

/** An entry of any kind. One that is no file has no extents. */
export interface TarEntry extends Member {
  readonly kind: TarKind;
  /** Where a link leads, as the archive says: a hard link to another entry's name, a symbolic one to any text. */
  readonly link: string;
  /** The header block and the pax records that hold for the entry, for `attributes.ts`. */
  readonly block: Uint8Array;
  readonly pax: PaxRecords;
}

const KINDS: Readonly<Record<string, TarKind>> = { "1": "hard-link", "2": "symbolic-link", "5": "folder" };

function* members(): Generator<Need | Member, void, Uint8Array | undefined> {
  const entries = tarEntries();
  let step = entries.next();
  while (step.done !== true) {
    const isPassedOver = "kind" in step.value && step.value.kind !== "file";
    const answer = isPassedOver ? undefined : yield step.value;
    step = answer === undefined ? entries.next() : entries.next(answer);
  }
}

/**
 * As `Archive.members`, with entries of every kind.
 * @param maxEntries headers of any kind; for callers that keep nothing of an entry that has gone by
 */
export function* tarEntries(maxEntries = MAX_ENTRIES): Generator<Need | TarEntry, void, Uint8Array | undefined> {
  let offset = 0;
  let global = NO_RECORDS;
  let pending: Pending = {};
  for (let entries = 0; ; entries++) {
    if (entries === maxEntries) {
      throw new FormatError("FORMAT_OUT_OF_BOUNDS", `the archive has more than ${maxEntries} entries`);
    }
    const block = yield* readHeaderBlock(offset);
    if (block === undefined) {
      if (Object.keys(pending).length === 0) return;
      throw endsInside(offset, "an entry: its extended header is the last");
    }
    const header = readHeader(block, offset);
    const content = offset + BLOCK;
    let end = content + header.size;
    if (header.type === "g") {
      global = mergePax(global, { ...(yield* readPax(content, header)), sparse: undefined });
    } else if (header.type === "x" || header.type === "X") {
      pending = { ...pending, pax: yield* readPax(content, header) };
    } else if (header.type === "L") {
      pending = { ...pending, longName: yield* readLongName(content, header) };
    } else if (header.type === "K") {
      pending = { ...pending, longLink: yield* readLongName(content, header) };
    } else {
      const pax = mergePax(global, pending.pax ?? NO_RECORDS);
      const name = cleanName(pax.values.get("path") ?? pending.longName ?? header.name);
      const link = pax.values.get("linkpath") ?? pending.longLink ?? header.link;
      pending = {};
      if (isRegular(header, name)) {
        const read = yield* readContent(block, header, content, pax);
        checkPlace(read.end, offset);
        const sparseName = pax.values.get("GNU.sparse.name");
        const member = { name: cleanName(sparseName ?? name), size: read.size, extents: read.extents };
        yield { ...member, kind: "file", link: "", block, pax };
        end = read.end;
      } else {
        end = yield* passOver(header, content, pax);
        yield { name, size: 0, extents: [], kind: kindOf(header), link, block, pax };
      }
    }
    checkPlace(end, offset);
    offset = alignUp(end, BLOCK);
  }
}

/** What extended headers said about the entry that follows them. */
interface Pending {
  readonly pax?: PaxRecords;
  readonly longName?: string;
  readonly longLink?: string;
}

/** The header block, in a copy; undefined at the end of the archive. */
function* readHeaderBlock(offset: number): Reading<Uint8Array | undefined> {
  const block = (yield* readUpTo(offset, BLOCK)).slice();
  if (block.length === 0) return undefined;
  if (block.length < BLOCK) throw endsInside(offset + block.length, "a header");
  if (!isZero(block)) return block;
  const second = yield* readUpTo(offset + BLOCK, BLOCK);
  if (isZero(second)) return undefined;
  // GNU tar stops here with a warning. What follows may be the disk, so a block that was wiped is not taken for the end.
  throw new FormatError("FORMAT_CORRUPT", `the archive has a single block of zeros at ${offset}, with more behind it`, {
    context: { offset },
  });
}

function* readPax(content: number, header: TarHeader): Reading<PaxRecords> {
  checkLength(header.size, MAX_PAX_LENGTH, "pax header", content);
  return parsePax(yield* readCopy(content, header.size, "a pax header"), content);
}

function* readLongName(content: number, header: TarHeader): Reading<string> {
  checkLength(header.size, MAX_LONG_NAME, "long name", content);
  return textToNul(yield* readCopy(content, header.size, "a long name"));
}

function checkLength(length: number, limit: number, what: string, offset: number): void {
  if (length <= limit) return;
  throw new FormatError("FORMAT_OUT_OF_BOUNDS", `a ${what} has ${length} bytes, above the limit of ${limit}`, {
    context: { offset },
  });
}

function checkPlace(end: number, offset: number): void {
  if (Number.isSafeInteger(end + BLOCK)) return;
  throw new FormatError("FORMAT_OUT_OF_BOUNDS", `the entry at ${offset} ends above the limit of 2^53 - 1`);
}

/** v7 has no type for folders; a slash at the end of the name makes one. */
function isRegular(header: TarHeader, name: string): boolean {
  if (header.type === "M") {
    throw new FormatError(
      "FORMAT_UNSUPPORTED",
      "the archive starts inside a member that is continued from another volume",
      {
        remedy: "Join the volumes with tar first.",
      },
    );
  }
  if (header.type === "S" && header.layout !== "gnu") {
    throw new FormatError("FORMAT_UNSUPPORTED", "the archive has a sparse member in the layout of star", {
      remedy: "Unpack the archive with star first.",
    });
  }
  return REGULAR.includes(header.type) && !name.endsWith("/");
}

function kindOf(header: TarHeader): TarKind {
  return KINDS[header.type] ?? (REGULAR.includes(header.type) ? "folder" : "other");
}

function* readContent(block: Uint8Array, header: TarHeader, offset: number, pax: PaxRecords): Reading<SparseContent> {
  const size = storedSize(header, pax);
  checkPlace(offset + size, offset - BLOCK);
  if (header.type === "S") return yield* readOldGnu(block, { offset, size });
  const sparse = yield* readPaxSparse(pax, { offset, size });
  if (sparse !== undefined) return sparse;
  const extents = size === 0 ? [] : [{ offset: 0, length: size, hostOffset: offset }];
  return { size, extents, end: offset + size };
}

/** @returns where the entry ends; its last byte is asked for, as no driver sees an entry that is not announced */
function* passOver(header: TarHeader, content: number, pax: PaxRecords): Reading<number> {
  if (WITHOUT_CONTENT.includes(header.type)) return content;
  const size = storedSize(header, pax);
  checkPlace(content + size, content - BLOCK);
  if (size > 0 && (yield* readUpTo(content + size - 1, 1)).length === 0) throw endsInside(content, "an entry");
  return content + size;
}

function storedSize(header: TarHeader, pax: PaxRecords): number {
  const size = pax.values.get("size");
  return size === undefined ? header.size : parseDecimalText(size, "the size in a pax header");
}

function cleanName(name: string): string {
  return name.replace(/^(?:\.?\/)+/, "");
}
