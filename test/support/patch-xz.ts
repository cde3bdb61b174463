/**
 * Makes an xz file claim a larger dictionary than it was compressed with, which its decoder must then provide for. To make
 * one with the tool takes a dozen times the dictionary in memory.
 * @see The .xz File Format, 3.1 and 5.3.1
 */
import { crc32 } from "node:zlib";

const STREAM_HEADER_LENGTH = 12;
const LZMA2 = 0x21;

/** The byte that stands for 2^exponent, or with `half` for one and a half times as much. */
export function dictionaryByte(exponent: number, half = false): number {
  return (exponent - 12) * 2 + (half ? 1 : 0);
}

/** @param xz one stream with one filter, of which the first block is changed */
export function withDictionary(xz: Uint8Array, byte: number): Buffer {
  const changed = Buffer.from(xz);
  const headerLength = ((changed[STREAM_HEADER_LENGTH] ?? 0) + 1) * 4;
  const header = changed.subarray(STREAM_HEADER_LENGTH, STREAM_HEADER_LENGTH + headerLength);
  const at = header.indexOf(Buffer.from([LZMA2, 1]), 2);
  if (at < 0) throw new Error("the first block has no LZMA2 filter");
  header[at + 2] = byte;
  header.writeUInt32LE(crc32(header.subarray(0, headerLength - 4)), headerLength - 4);
  return changed;
}
