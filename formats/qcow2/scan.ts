/**
 * The single pass: L2 tables in the order in which they lie in the file, and the extents of each as soon as it was read.
 *
 * In images written by QEMU, by whatever road, an L2 table is allocated before the clusters it maps, so in host order
 * nearly no cluster goes by before its place is known. Of the tables only the offsets are held, eight bytes each.
 */
import { hex, viewOf } from "../bytes.ts";
import type { Extent, Need } from "../disk-format.ts";
import { FormatError } from "../errors.ts";
import { ExtentList } from "../extent-list.ts";
import { entriesOfTable } from "./geometry.ts";
import type { Geometry } from "./geometry.ts";
import { L1_PIECE_ENTRIES, l1Piece, tableLength, tableOffset } from "./l1-table.ts";
import { addEntries } from "./l2-table.ts";
import type { RefcountWalk } from "./refcount-table.ts";

type Scanning<T> = Generator<Need | readonly Extent[], T, Uint8Array | undefined>;

/**
 * Walks the image once.
 * @param refcounts tables that are passed by, so that a stream's driver need not keep them
 */
export function* scanInHostOrder(
  geometry: Geometry,
  refcounts: RefcountWalk,
): Scanning<{ readonly virtualSize: number }> {
  const { clusterSize, l1Entries, virtualSize } = geometry;
  if (l1Entries > 0) yield* refcounts.passUpTo(geometry.l1Offset);
  const order = yield* readTableOrder(geometry);
  refcounts.position = Math.max(refcounts.position, geometry.l1Offset + l1Entries * 8);
  let tableAt = 0;
  let table: DataView = new DataView(new ArrayBuffer(0));
  for (const key of order) {
    const index = key % l1Entries;
    const offset = ((key - index) / l1Entries) * clusterSize;
    if (offset !== tableAt) {
      yield* refcounts.passUpTo(offset);
      const need = { offset, length: tableLength(geometry, index) };
      table = viewOf(new Uint8Array(answered(yield need))); // a copy: it is used after the next yield
      refcounts.position = Math.max(refcounts.position, offset + clusterSize);
      tableAt = offset;
    }
    const end = entriesOfTable(geometry, index);
    let first = 0;
    while (first < end) {
      const list = new ExtentList({ start: 0, end: virtualSize, holes: false });
      first = addEntries(table, { first, end, start: index * geometry.tableCoverage }, geometry, list);
      if (!list.isEmpty) yield list.finish();
    }
  }
  return { virtualSize };
}

/**
 * Reads the L1 table and sorts its L2 tables by host offset.
 * @returns for each L2 table its host cluster * l1Entries + its index: numbers sort without a comparison function
 */
function* readTableOrder(geometry: Geometry): Scanning<Float64Array> {
  const { clusterSize, l1Entries } = geometry;
  let keys = new Float64Array(1024);
  let count = 0;
  for (let first = 0; first < l1Entries; first += L1_PIECE_ENTRIES) {
    const piece = viewOf(answered(yield l1Piece(geometry, first)));
    const end = first + piece.byteLength / 8;
    for (let index = first; index < end; index++) {
      const offset = tableOffset(piece, first, index, geometry);
      if (offset === 0) continue;
      const key = (offset / clusterSize) * l1Entries + index;
      if (key > Number.MAX_SAFE_INTEGER) {
        throw new FormatError(
          "FORMAT_OUT_OF_BOUNDS",
          `L2 table ${index} at ${hex(offset)} is beyond the limit of a single pass`,
        );
      }
      if (count === keys.length) {
        const longer = new Float64Array(Math.min(count * 2, l1Entries));
        longer.set(keys);
        keys = longer;
      }
      keys[count++] = key;
    }
  }
  return keys.subarray(0, count).sort();
}

function answered(bytes: Uint8Array | undefined): Uint8Array {
  if (bytes === undefined) throw new Error("a scan that asked for bytes was sent none");
  return bytes;
}
