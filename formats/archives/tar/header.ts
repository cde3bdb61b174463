/**
 * The 512-byte header block of tar, as POSIX.1 "ustar Interchange Format", GNU tar's "Basic Tar Format" and v7 lay it out.
 *
 * Fields are ASCII: octal numbers ended by a space or NUL, names ended by NUL or by the field. GNU's base-256 numbers set
 * the top bit of the first byte. Names are decoded as text.ts says; owner, mode and times are not read (attributes.ts).
 */
import { hasMagic, u64be, viewOf } from "../../bytes.ts";
import { FormatError } from "../../errors.ts";
import { decodeText } from "./text.ts";

/** Everything in a tar starts at a multiple of it. */
export const BLOCK = 512;

export interface TarHeader {
  readonly name: string;
  /** Bytes of content that follow the header, before padding to a block. */
  readonly size: number;
  /** The type flag as a character; NUL is `\0`. */
  readonly type: string;
  /** Where a link leads; empty in everything else. */
  readonly link: string;
  /** `gnu` is GNU tar's own layout before pax, with its sparse map where ustar has its prefix. */
  readonly layout: "v7" | "ustar" | "gnu";
}

/** Offset and length in bytes of header fields. */
const NAME = [0, 100] as const;
const SIZE = [124, 12] as const;
const CHECKSUM = [148, 8] as const;
const TYPE = 156;
const LINK = [157, 100] as const;
const MAGIC = 257;
const PREFIX = [345, 155] as const;

/** The numeric fields that every layout has: mode, uid, gid, size, mtime. */
const NUMERIC = [[100, 8], [108, 8], [116, 8], SIZE, [136, 12]] as const;

const V7_TYPES = "\0" + "01234567";

/**
 * True if `head` starts with a tar header. With ustar's magic a readable checksum field is enough, so that a damaged
 * archive is reported and not poured out as a raw disk; without it the checksum must hold and every field make sense.
 */
export function startsAsTar(head: Uint8Array): boolean {
  if (head.length < BLOCK) return false;
  const block = head.subarray(0, BLOCK);
  if (!isOctal(block, CHECKSUM) || block[CHECKSUM[0]] === 0) return false;
  if (hasMagic(block, "ustar", MAGIC)) return true;
  return (
    checksumHolds(block) &&
    block[0] !== 0 &&
    V7_TYPES.includes(String.fromCharCode(block[TYPE] ?? 0)) &&
    NUMERIC.every((field) => isOctal(block, field)) &&
    isZero(block.subarray(MAGIC, MAGIC + 8)) &&
    isZero(block.subarray(PREFIX[0]))
  );
}

/**
 * Reads a header block that is not all zeros.
 * @param offset of the block in the archive, for messages
 * @throws FormatError FORMAT_CORRUPT if the checksum or a number is wrong, FORMAT_OUT_OF_BOUNDS for a size above 2^53 - 1
 */
export function readHeader(block: Uint8Array, offset: number): TarHeader {
  if (!checksumHolds(block)) {
    throw new FormatError("FORMAT_CORRUPT", `the tar header at ${offset} has a wrong checksum`, {
      context: { offset },
    });
  }
  const layout = layoutOf(block);
  const name = readName(block, NAME);
  const prefix = layout === "ustar" ? readName(block, PREFIX) : "";
  return {
    name: prefix === "" ? name : `${prefix}/${name}`,
    size: readNumber(block, SIZE, `the size in the tar header at ${offset}`),
    type: typeOf(block),
    link: readName(block, LINK),
    layout,
  };
}

/** The type flag of a header block. */
export function typeOf(block: Uint8Array): string {
  return String.fromCharCode(block[TYPE] ?? 0);
}

/** True if every byte is zero. */
export function isZero(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0);
}

/**
 * Reads a numeric field: octal, or base-256.
 * @param field offset and length in the block
 * @param what names the field in messages
 * @throws FormatError FORMAT_CORRUPT for anything else and for a negative number, FORMAT_OUT_OF_BOUNDS above 2^53 - 1
 */
export function readNumber(block: Uint8Array, field: readonly [number, number], what: string): number {
  const [start, length] = field;
  const first = block[start] ?? 0;
  if ((first & 0x80) !== 0) return readBase256(block.subarray(start, start + length), what);
  if (!isOctal(block, field)) throw new FormatError("FORMAT_CORRUPT", `${what} is not an octal number`);
  let value = 0; // at most 12 digits: 2^36
  for (const byte of block.subarray(start, start + length)) {
    if (byte >= 0x30) value = value * 8 + (byte - 0x30);
    else if (byte === 0) break;
  }
  return value;
}

/** Two's complement, big-endian; the top bit of the first byte only marks it, the next one is the sign. */
function readBase256(bytes: Uint8Array, what: string): number {
  const first = bytes[0] ?? 0;
  if ((first & 0x40) !== 0) throw new FormatError("FORMAT_CORRUPT", `${what} is negative`);
  const low = bytes.length - 8;
  if ((first & 0x3f) !== 0 || !isZero(bytes.subarray(1, low))) {
    throw new FormatError("FORMAT_OUT_OF_BOUNDS", `${what} is above the limit of 2^53 - 1`);
  }
  return u64be(viewOf(bytes), low, what);
}

/** Spaces, octal digits, then only spaces and NULs; a field without digits is 0, as tar reads it. */
function isOctal(block: Uint8Array, [start, length]: readonly [number, number]): boolean {
  let at = start;
  const end = start + length;
  while (at < end && block[at] === 0x20) at++;
  while (at < end && (block[at] ?? 0) >= 0x30 && (block[at] ?? 0) <= 0x37) at++;
  while (at < end && (block[at] === 0x20 || block[at] === 0)) at++;
  return at === end;
}

/** The sum of all bytes, the checksum field taken as spaces. Old tars summed signed bytes; both are right. */
function checksumHolds(block: Uint8Array): boolean {
  if (!isOctal(block, CHECKSUM)) return false;
  const expected = readNumber(block, CHECKSUM, "the checksum");
  const field = block.subarray(CHECKSUM[0], CHECKSUM[0] + CHECKSUM[1]);
  const unsigned = sum(block) - sum(field) + 0x20 * CHECKSUM[1];
  const signed = unsigned - 0x100 * (countHigh(block) - countHigh(field));
  return expected === unsigned || expected === signed;
}

function sum(bytes: Uint8Array): number {
  let total = 0;
  for (let at = 0; at < bytes.length; at++) total += bytes[at] ?? 0;
  return total;
}

/** How many bytes are negative when they are taken as signed. */
function countHigh(bytes: Uint8Array): number {
  let count = 0;
  for (let at = 0; at < bytes.length; at++) if ((bytes[at] ?? 0) >= 0x80) count++;
  return count;
}

function layoutOf(block: Uint8Array): TarHeader["layout"] {
  if (hasMagic(block, "ustar  ", MAGIC)) return "gnu";
  return hasMagic(block, "ustar", MAGIC) ? "ustar" : "v7";
}

function readName(block: Uint8Array, [start, length]: readonly [number, number]): string {
  return textToNul(block.subarray(start, start + length));
}

/** Bytes up to the first NUL as text. */
export function textToNul(bytes: Uint8Array): string {
  const nul = bytes.indexOf(0);
  if (nul === 0) return "";
  return decodeText(nul < 0 ? bytes : bytes.subarray(0, nul));
}
