/**
 * The L1 table: 64-bit big-endian entries, bits 9 to 55 the host offset of an L2 table, 0 for none.
 *
 * It may be 32 MiB long, so it is asked for in pieces and never turned into an array of numbers.
 */
import { hex, MIB } from "../bytes.ts";
import type { Need } from "../disk-format.ts";
import { FormatError } from "../errors.ts";
import { entriesOfTable } from "./geometry.ts";
import type { Geometry } from "./geometry.ts";
import { MAX_HIGH_HALF, TWO_32 } from "./host-cluster.ts";

/** Entries in a piece: 1 MiB of table, which maps 64 TiB of disk in 64 KiB clusters. */
export const L1_PIECE_ENTRIES = MIB / 8;

/** Where the piece lies that begins with entry `first`; only as much of it as the disk needs. */
export function l1Piece(geometry: Geometry, first: number): Need {
  const entries = Math.min(L1_PIECE_ENTRIES, geometry.l1Entries - first);
  return { offset: geometry.l1Offset + first * 8, length: entries * 8 };
}

/**
 * The host offset of an L2 table, 0 if there is none.
 * @param piece holds the L1 entries from `first` on
 * @param index of the entry in the whole table
 * @throws FormatError FORMAT_CORRUPT if it is misaligned or the table is not in the file, FORMAT_OUT_OF_BOUNDS above 2^53 - 1
 */
export function tableOffset(piece: DataView, first: number, index: number, geometry: Geometry): number {
  const at = (index - first) * 8;
  const high = piece.getUint32(at) & 0x00ff_ffff;
  const low = (piece.getUint32(at + 4) & 0xffff_fe00) >>> 0;
  if (high === 0 && low === 0) return 0;
  const offset = high * TWO_32 + low;
  if (high > MAX_HIGH_HALF) {
    throw new FormatError(
      "FORMAT_OUT_OF_BOUNDS",
      `L1 entry ${index} points to ${hex(offset)}, above the limit of 2^53 - 1`,
    );
  }
  if ((low & (geometry.clusterSize - 1)) !== 0) {
    throw new FormatError(
      "FORMAT_CORRUPT",
      `L1 entry ${index} points to ${hex(offset)}, which is not the start of a cluster`,
    );
  }
  if (offset + tableLength(geometry, index) > geometry.hostEnd) {
    throw new FormatError(
      "FORMAT_CORRUPT",
      `L2 table ${index} at ${hex(offset)} lies beyond the end of the file at ${hex(geometry.hostEnd)}`,
    );
  }
  return offset;
}

/** Bytes of L2 table `index` that map the disk. */
export function tableLength(geometry: Geometry, index: number): number {
  return entriesOfTable(geometry, index) * geometry.entrySize;
}
