/**
 * The checksum of the headers, the region tables and the log entries of a VHDX file: CRC-32C ([MS-VHDX] 2.2.2).
 */
import { crc32c } from "../crc32c.ts";

/**
 * The checksum of a structure that holds its own checksum in bytes 4 to 8, which count as zeros.
 * @param bytes the structure, or its first part; at least 8 bytes
 */
export function crc32cOfStructure(bytes: Uint8Array): number {
  return crc32c(bytes.subarray(8), crc32c(new Uint8Array(4), crc32c(bytes.subarray(0, 4))));
}
