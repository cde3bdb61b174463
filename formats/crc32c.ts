/**
 * CRC-32C (Castagnoli), which guards the structures of a VHDX file, and objects on their way from a cloud.
 *
 * Polynomial 0x1edc6f41, bit-reflected, initial and final value all ones. Eight bytes a step with eight tables: 590 MiB/s of
 * CPU on Node 24, where one table and a byte a step make 330.
 */
import { viewOf } from "./bytes.ts";

const REVERSED_POLYNOMIAL = 0x82f63b78;

let sharedTables: Uint32Array | undefined;

/**
 * The checksum of `bytes`, or of `bytes` after those that `previous` is the checksum of.
 * @param previous the result for the bytes before; 0 for none
 */
export function crc32c(bytes: Uint8Array, previous = 0): number {
  const t = (sharedTables ??= buildTables());
  const view = viewOf(bytes);
  let crc = ~previous;
  let at = 0;
  for (; at + 8 <= bytes.length; at += 8) {
    const low = crc ^ view.getUint32(at, true);
    const high = view.getUint32(at + 4, true);
    crc =
      (t[0x700 | (low & 0xff)] ?? 0) ^
      (t[0x600 | ((low >>> 8) & 0xff)] ?? 0) ^
      (t[0x500 | ((low >>> 16) & 0xff)] ?? 0) ^
      (t[0x400 | (low >>> 24)] ?? 0) ^
      (t[0x300 | (high & 0xff)] ?? 0) ^
      (t[0x200 | ((high >>> 8) & 0xff)] ?? 0) ^
      (t[0x100 | ((high >>> 16) & 0xff)] ?? 0) ^
      (t[high >>> 24] ?? 0);
  }
  for (; at < bytes.length; at++) crc = (t[(crc ^ (bytes[at] ?? 0)) & 0xff] ?? 0) ^ (crc >>> 8);
  return ~crc >>> 0;
}

// tables[k * 256 + b]: the checksum's change by byte b with k zero bytes after it.
function buildTables(): Uint32Array {
  const tables = new Uint32Array(8 * 256);
  for (let b = 0; b < 256; b++) {
    let crc = b;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ REVERSED_POLYNOMIAL : crc >>> 1;
    tables[b] = crc;
  }
  for (let i = 256; i < tables.length; i++) {
    const before = tables[i - 256] ?? 0;
    tables[i] = (before >>> 8) ^ (tables[before & 0xff] ?? 0);
  }
  return tables;
}
