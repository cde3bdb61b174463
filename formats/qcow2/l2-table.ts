/**
 * L2 tables: what each 64-bit big-endian entry says about one cluster of the disk.
 *
 * Bit 62 set: compressed, see compressed-cluster.ts. Else bits 9 to 55 are a host offset, 0 for none, and bit 0 says
 * that the cluster reads as zeros (version 3). With extended L2 a second word follows, see subclusters.ts.
 */
import { hex } from "../bytes.ts";
import { FormatError } from "../errors.ts";
import { addCompressed } from "./compressed-cluster.ts";
import { NOWHERE } from "../extent-list.ts";
import type { ExtentList } from "../extent-list.ts";
import { SUBCLUSTERS } from "./geometry.ts";
import type { Geometry } from "./geometry.ts";
import { checkInFile, hostOffsetOf } from "./host-cluster.ts";
import { addSubclusters } from "./subclusters.ts";

const COMPRESSED = 0x4000_0000; // bit 62, in the high half
const ZERO = 1;

/**
 * Adds the extents of entries [first, end) until the list has no room.
 * 8192 entries take 0.3 ms, compressed ones 1 ms (Node 24, 2 shared cores): two 32-bit reads an entry, and no object until an
 * extent ends.
 * @param table the L2 table, at least up to entry `end`
 * @param start virtual offset of the table's entry 0
 * @returns the first entry that was not added
 * @throws FormatError FORMAT_CORRUPT (misaligned, beyond the end of the file, contradictory), FORMAT_OUT_OF_BOUNDS above 2^53 - 1
 */
export function addEntries(
  table: DataView,
  range: { readonly first: number; readonly end: number; readonly start: number },
  geometry: Geometry,
  list: ExtentList,
): number {
  const { clusterSize, entrySize, extendedL2 } = geometry;
  for (let i = range.first; i < range.end; i++) {
    if (!list.hasRoom(SUBCLUSTERS)) return i;
    const at = i * entrySize;
    const high = table.getUint32(at);
    const low = table.getUint32(at + 4);
    const offset = range.start + i * clusterSize;
    if ((high & COMPRESSED) !== 0) addCompressed(high, low, offset, geometry, list);
    else {
      const host = hostOffsetOf(high, low, offset, geometry);
      if (extendedL2)
        addSubclusters(
          { zeros: table.getUint32(at + 8), allocated: table.getUint32(at + 12) },
          host,
          offset,
          geometry,
          list,
        );
      else addCluster((low & ZERO) !== 0, host, offset, geometry, list);
    }
  }
  return range.end;
}

function addCluster(zero: boolean, host: number, offset: number, geometry: Geometry, list: ExtentList): void {
  const { clusterSize } = geometry;
  if (zero) {
    if (geometry.version < 3) {
      throw new FormatError(
        "FORMAT_CORRUPT",
        `the cluster at virtual offset ${hex(offset)} is a zero cluster, which version 2 lacks`,
      );
    }
    list.add("zero", offset, clusterSize, host);
  } else if (host === NOWHERE) {
    list.add("hole", offset, clusterSize, NOWHERE);
  } else {
    if (host + clusterSize > geometry.hostEnd) checkInFile(host, offset, clusterSize, geometry);
    list.add("data", offset, clusterSize, host);
  }
}
