/**
 * The header and trailer of a gzip member.
 * @see RFC 1952, 2.3
 */
import { crc32 } from "node:zlib";
import { viewOf } from "../bytes.ts";
import { FormatError } from "../errors.ts";

/** CRC32 and ISIZE. */
export const GZIP_TRAILER_LENGTH = 8;

const FIXED_LENGTH = 10;
const METHOD_DEFLATE = 8;
const FLAG_HCRC = 0x02;
const FLAG_EXTRA = 0x04;
const FLAG_NAME = 0x08;
const FLAG_COMMENT = 0x10;
const FLAGS_RESERVED = 0xe0;

const MAX_HEADER_LENGTH = 128 * 1024; // an extra field of 64 KiB, and a name and a comment longer than any path

/** True for ID1, ID2 and the only compression method there is. */
export function isGzipMagic(bytes: Uint8Array): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b && bytes[2] === METHOD_DEFLATE;
}

/**
 * @param bytes begin with a member's header
 * @returns the header's length, or undefined if it goes on behind `bytes`
 * @throws FormatError FORMAT_CORRUPT, FORMAT_OUT_OF_BOUNDS (longer than MAX_HEADER_LENGTH), FORMAT_UNSUPPORTED (a reserved
 *         flag, which hides an unknown field)
 */
export function gzipHeaderLength(bytes: Uint8Array): number | undefined {
  const length = findEnd(bytes);
  if (length === undefined && bytes.length >= MAX_HEADER_LENGTH) {
    throw new FormatError("FORMAT_OUT_OF_BOUNDS", `a gzip header is longer than ${MAX_HEADER_LENGTH} bytes`);
  }
  return length;
}

function findEnd(bytes: Uint8Array): number | undefined {
  if (bytes.length < FIXED_LENGTH) return undefined;
  const flags = bytes[3] ?? 0;
  if ((flags & FLAGS_RESERVED) !== 0) {
    throw new FormatError("FORMAT_UNSUPPORTED", `a gzip header has the reserved flags 0x${flags.toString(16)}`);
  }
  const view = viewOf(bytes);
  let at: number | undefined = FIXED_LENGTH;
  if ((flags & FLAG_EXTRA) !== 0) {
    if (bytes.length < at + 2) return undefined;
    at += 2 + view.getUint16(at, true);
  }
  if ((flags & FLAG_NAME) !== 0) at = behindZero(bytes, at);
  if ((flags & FLAG_COMMENT) !== 0) at = behindZero(bytes, at);
  if (at === undefined) return undefined;
  if ((flags & FLAG_HCRC) !== 0) {
    if (bytes.length < at + 2) return undefined;
    if (view.getUint16(at, true) !== (crc32(bytes.subarray(0, at)) & 0xffff)) {
      throw new FormatError("FORMAT_CORRUPT", "the checksum of a gzip header differs");
    }
    at += 2;
  }
  return at <= bytes.length ? at : undefined;
}

function behindZero(bytes: Uint8Array, at: number | undefined): number | undefined {
  if (at === undefined || at > bytes.length) return undefined;
  const zero = bytes.indexOf(0, at);
  return zero === -1 ? undefined : zero + 1;
}

/**
 * Compares a member's trailer with what was decoded.
 * @param trailer GZIP_TRAILER_LENGTH bytes
 * @param crc CRC-32 of the member's content
 * @param size length of the member's content
 * @throws FormatError FORMAT_CORRUPT
 */
export function checkGzipTrailer(trailer: Uint8Array, crc: number, size: number): void {
  const view = viewOf(trailer);
  if (view.getUint32(0, true) !== crc) {
    throw new FormatError("FORMAT_CORRUPT", "the CRC-32 of a gzip member differs from that of its content");
  }
  if (view.getUint32(4, true) !== size % 0x1_0000_0000) {
    throw new FormatError("FORMAT_CORRUPT", "the length in a gzip member's trailer differs from that of its content");
  }
}
