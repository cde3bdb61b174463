/**
 * The header of a dynamic VHD: where its block allocation table (BAT) is and how large a block is.
 *
 * Virtual Hard Disk Image Format Specification 1.0, "Dynamic Disk Header Format". All fields are big-endian.
 */
import { hasMagic, hex, isPowerOfTwo, MIB, u64be, viewOf } from "../bytes.ts";
import { FormatError } from "../errors.ts";
import { vhdChecksum } from "./footer.ts";

export const DYNAMIC_HEADER_LENGTH = 1024;
export const DYNAMIC_HEADER_COOKIE = "cxsparse";

const CHECKSUM_AT = 36;
const MIN_BLOCK_SIZE = 512;
const MAX_BLOCK_SIZE = 1024 * MIB; // 2 MiB is usual, 512 KiB is seen
const MAX_TABLE_ENTRIES = 0x1fff_ffff; // the table stays below 2 GiB, as with qemu; real ones have at most 2^22

export interface DynamicHeader {
  /** Host offset of the BAT. */
  readonly tableOffset: number;
  /** Entries of the BAT, one per block of the disk. */
  readonly maxTableEntries: number;
  readonly blockSize: number;
}

/**
 * @param bytes DYNAMIC_HEADER_LENGTH bytes
 * @throws FormatError FORMAT_INVALID, FORMAT_CORRUPT (checksum), FORMAT_UNSUPPORTED (version), FORMAT_OUT_OF_BOUNDS
 */
export function decodeDynamicHeader(bytes: Uint8Array): DynamicHeader {
  const view = viewOf(bytes);
  if (!hasMagic(bytes, DYNAMIC_HEADER_COOKIE)) {
    throw new FormatError("FORMAT_INVALID", `the VHD's dynamic header does not begin with ${DYNAMIC_HEADER_COOKIE}`);
  }
  if (view.getUint32(CHECKSUM_AT) !== vhdChecksum(bytes, CHECKSUM_AT)) {
    throw new FormatError("FORMAT_CORRUPT", "the checksum of the VHD's dynamic header does not match");
  }
  if (view.getUint16(24) !== 1) {
    throw new FormatError("FORMAT_UNSUPPORTED", `VHD dynamic header version ${view.getUint16(24)} is not read, only 1`);
  }
  const tableOffset = u64be(view, 16, "VHD table offset");
  const maxTableEntries = view.getUint32(28);
  const blockSize = view.getUint32(32);
  if (tableOffset < 512) {
    throw new FormatError("FORMAT_INVALID", `the VHD's table offset ${hex(tableOffset)} lies inside its footer`);
  }
  if (maxTableEntries > MAX_TABLE_ENTRIES) {
    throw new FormatError(
      "FORMAT_OUT_OF_BOUNDS",
      `the VHD's block table has ${maxTableEntries} entries, above the limit of ${MAX_TABLE_ENTRIES}`,
    );
  }
  if (!isPowerOfTwo(blockSize) || blockSize < MIN_BLOCK_SIZE || blockSize > MAX_BLOCK_SIZE) {
    throw new FormatError(
      "FORMAT_OUT_OF_BOUNDS",
      `VHD block size ${blockSize} is not a power of two from ${MIN_BLOCK_SIZE} to ${MAX_BLOCK_SIZE}`,
    );
  }
  return { tableOffset, maxTableEntries, blockSize };
}
