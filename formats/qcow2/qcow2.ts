/**
 * qcow2, versions 2 and 3, as QEMU's docs/interop/qcow2.txt describes it.
 *
 * header → geometry → L1 table → L2 tables → extents. Tables are asked for when a range needs them and a few are kept, so
 * the cost of a walk follows what is allocated, not the virtual size. Refused: see refusals.ts. Internal snapshots and
 * bitmaps are mentioned, not read: the disk is the active layer. Refcounts are ignored.
 */
import { hasMagic, KIB, MIB } from "../bytes.ts";
import type { DiskFormat, DiskImage, Extent, Parsing, Warning } from "../disk-format.ts";
import { ExtentList } from "../extent-list.ts";
import { entriesOfTable, geometryOf, SUBCLUSTERS } from "./geometry.ts";
import type { Geometry } from "./geometry.ts";
import { QCOW2_MAGIC, readHeader } from "./header.ts";
import type { Header } from "./header.ts";
import { L1_PIECE_ENTRIES, l1Piece, tableLength, tableOffset } from "./l1-table.ts";
import { addEntries } from "./l2-table.ts";
import { RefcountWalk } from "./refcount-table.ts";
import { scanInHostOrder } from "./scan.ts";
import { TableCache } from "./table-cache.ts";

export const qcow2: DiskFormat = {
  name: "qcow2",
  probe: (head) => hasMagic(head, QCOW2_MAGIC),
  *open(hostSize) {
    const header = yield* readHeader();
    return new Qcow2Image(header, geometryOf(header, hostSize));
  },
};

// Held for walks in small steps: at least two of the largest tables.
const L1_CACHE_LENGTH = 2 * MIB;
const L2_CACHE_LENGTH = 4 * MIB;

// L2 tables that one answer may read: enough for 32 GiB in 64 KiB clusters, and the first extents do not wait for the
// map of the whole disk.
const MAX_L2_LENGTH_PER_ANSWER = 4 * MIB;

class Qcow2Image implements DiskImage {
  readonly format = "qcow2";
  readonly virtualSize: number;
  readonly features: readonly string[];
  readonly warnings: readonly Warning[];
  readonly #header: Header;
  readonly #geometry: Geometry;
  readonly #l1Cache = new TableCache(L1_CACHE_LENGTH);
  readonly #l2Cache = new TableCache(L2_CACHE_LENGTH);

  constructor(header: Header, geometry: Geometry) {
    this.virtualSize = geometry.virtualSize;
    this.features = featuresOf(header);
    this.warnings = warningsOf(header, geometry);
    this.#header = header;
    this.#geometry = geometry;
  }

  *extents(offset: number, length: number): Parsing<readonly Extent[]> {
    const geometry = this.#geometry;
    const { clusterSize, tableCoverage } = geometry;
    const end = offset + length;
    const list = new ExtentList({ start: offset, end });
    let l2Length = 0;
    let index = Math.floor(offset / tableCoverage);
    while (index * tableCoverage < end) {
      const pieceFirst = index - (index % L1_PIECE_ENTRIES);
      const need = l1Piece(geometry, pieceFirst);
      const piece = yield* this.#l1Cache.read(need.offset, need.length);
      const pieceEnd = pieceFirst + need.length / 8;
      for (; index < pieceEnd && index * tableCoverage < end; index++) {
        const start = index * tableCoverage;
        const tableAt = tableOffset(piece, pieceFirst, index, geometry);
        if (tableAt === 0) {
          list.add("hole", start, tableCoverage);
          continue;
        }
        if (!list.hasRoom(SUBCLUSTERS) || (l2Length >= MAX_L2_LENGTH_PER_ANSWER && !list.isEmpty)) return list.finish();
        const table = yield* this.#l2Cache.read(tableAt, tableLength(geometry, index));
        l2Length += clusterSize;
        const first = Math.max(0, Math.floor((offset - start) / clusterSize));
        const last = Math.min(entriesOfTable(geometry, index), Math.ceil((end - start) / clusterSize));
        if (addEntries(table, { first, end: last, start }, geometry, list) < last) return list.finish();
      }
    }
    return list.finish();
  }

  scan(): ReturnType<DiskImage["scan"]> {
    const { refcountTableOffset: offset, refcountTableClusters, lengthRead } = this.#header;
    const table = { offset, length: refcountTableClusters * this.#geometry.clusterSize };
    return scanInHostOrder(this.#geometry, new RefcountWalk(table, this.#geometry, lengthRead));
  }
}

function featuresOf(header: Header): string[] {
  const features = [
    `version ${header.version}`,
    `cluster size ${describeSize(2 ** header.clusterBits)}`,
    `compression ${header.compression}`,
  ];
  if (header.extendedL2) features.push("extended L2");
  if (header.lazyRefcounts) features.push("lazy refcounts");
  if (header.snapshotCount > 0) features.push(`${counted(header.snapshotCount, "internal snapshot")} (not imported)`);
  const { bitmapCount } = header.extensions;
  if (bitmapCount > 0) features.push(`${counted(bitmapCount, "persistent bitmap")} (not imported)`);
  return features;
}

function warningsOf(header: Header, geometry: Geometry): Warning[] {
  const warnings: Warning[] = [];
  if (header.corrupt) {
    warnings.push({
      code: "QCOW2_CORRUPT",
      message: "the image is marked corrupt: QEMU found its tables damaged, and the disk may hold wrong data",
    });
  }
  if (header.dirty) {
    warnings.push({
      code: "QCOW2_DIRTY",
      message: "the image was not closed properly: its refcounts may be stale, which does not matter for reading",
    });
  }
  if (header.size !== geometry.virtualSize) {
    warnings.push({
      code: "QCOW2_PARTIAL_SECTOR",
      message: `the virtual size is ${header.size}: the part of a sector at its end is left out, as QEMU does`,
    });
  }
  return warnings;
}

function describeSize(bytes: number): string {
  if (bytes >= MIB) return `${bytes / MIB} MiB`;
  return bytes >= KIB ? `${bytes / KIB} KiB` : `${bytes} bytes`;
}

function counted(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`;
}
