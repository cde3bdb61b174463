/**
 * The numbers that follow from a header and that every table is read by.
 *
 * An L2 table fills one cluster and maps `tableCoverage` bytes of the disk; entry i of the L1 table holds the host offset
 * of the L2 table for [i * tableCoverage, (i + 1) * tableCoverage).
 */
import { alignDown } from "../bytes.ts";
import { FormatError } from "../errors.ts";
import type { Header } from "./header.ts";

export interface Geometry {
  readonly version: 2 | 3;
  readonly clusterBits: number;
  readonly clusterSize: number;
  readonly extendedL2: boolean;
  /** Bytes of an L2 entry: 8, or 16 with subclusters. */
  readonly entrySize: number;
  /** Bytes of the disk that one L2 table maps. */
  readonly tableCoverage: number;
  /** Bytes of the disk, a multiple of 512. */
  readonly virtualSize: number;
  readonly l1Offset: number;
  /** Entries of the L1 table that the disk needs. */
  readonly l1Entries: number;
  /** Length of the file; Infinity for a stream of unknown length. */
  readonly hostEnd: number;
  /** Of compressed clusters; those of type zlib are raw deflate. */
  readonly encoding: "deflate" | "zstd";
}

/** Parts of a cluster with extended L2 entries. */
export const SUBCLUSTERS = 32;

const SECTOR = 512;
const L1_ENTRY_SIZE = 8;

/**
 * @param hostSize length of the file; undefined for a stream of unknown length
 * @throws FormatError FORMAT_INVALID if the L1 table is too short for the disk, FORMAT_CORRUPT if the file ends inside it
 */
export function geometryOf(header: Header, hostSize: number | undefined): Geometry {
  const clusterSize = 2 ** header.clusterBits;
  const entrySize = header.extendedL2 ? 16 : 8;
  const tableCoverage = (clusterSize / entrySize) * clusterSize;
  // QEMU counts whole sectors, so that is what a guest has seen.
  const virtualSize = alignDown(header.size, SECTOR);
  const l1Entries = Math.ceil(virtualSize / tableCoverage);
  if (l1Entries > header.l1Size) {
    throw new FormatError(
      "FORMAT_INVALID",
      `the L1 table has ${header.l1Size} entries, fewer than the ${l1Entries} that the disk needs`,
    );
  }
  const hostEnd = hostSize ?? Infinity;
  const l1End = header.l1TableOffset + l1Entries * L1_ENTRY_SIZE;
  if (l1Entries > 0 && l1End > hostEnd) {
    throw new FormatError("FORMAT_CORRUPT", `the L1 table ends at ${l1End}, beyond the end of the file at ${hostEnd}`);
  }
  return {
    version: header.version,
    clusterBits: header.clusterBits,
    clusterSize,
    extendedL2: header.extendedL2,
    entrySize,
    tableCoverage,
    virtualSize,
    l1Offset: header.l1TableOffset,
    l1Entries,
    hostEnd,
    encoding: header.compression === "zlib" ? "deflate" : "zstd",
  };
}

/** How many entries of L2 table `index` map bytes of the disk; only the last table's may be fewer than fit. */
export function entriesOfTable(geometry: Geometry, index: number): number {
  const mapped = Math.min(geometry.tableCoverage, geometry.virtualSize - index * geometry.tableCoverage);
  return Math.ceil(mapped / geometry.clusterSize);
}
