/**
 * Subclusters of an extended L2 entry: a cluster in 32 equal parts, each allocated, reading as zeros, or absent.
 *
 * The second word of the entry has a bit for each part, part 0 lowest: "reads as zeros" in the high half, "allocated" in
 * the low half. The part lies at its own place in the host cluster, also where it is not allocated.
 */
import { hex } from "../bytes.ts";
import { FormatError } from "../errors.ts";
import { NOWHERE } from "../extent-list.ts";
import type { ExtentList } from "../extent-list.ts";
import { SUBCLUSTERS } from "./geometry.ts";
import type { Geometry } from "./geometry.ts";
import { checkInFile } from "./host-cluster.ts";

/** Both halves of the bitmap word, as unsigned 32-bit numbers. */
export interface SubclusterBitmap {
  readonly zeros: number;
  readonly allocated: number;
}

/**
 * Adds the parts of one cluster.
 * @param host   host offset of the cluster, or NOWHERE
 * @param offset virtual offset of the cluster
 * @throws FormatError FORMAT_CORRUPT for a part that is both, or allocated nowhere, or beyond the end of the file
 */
export function addSubclusters(
  bitmap: SubclusterBitmap,
  host: number,
  offset: number,
  geometry: Geometry,
  list: ExtentList,
): void {
  const { zeros, allocated } = bitmap;
  if ((zeros & allocated) !== 0 || (host === NOWHERE && allocated !== 0)) {
    throw new FormatError(
      "FORMAT_CORRUPT",
      `the subcluster bitmap at virtual offset ${hex(offset)} contradicts itself`,
    );
  }
  const length = geometry.clusterSize / SUBCLUSTERS;
  let first = 0;
  while (first < SUBCLUSTERS) {
    const isZero = (zeros >>> first) & 1;
    const isAllocated = (allocated >>> first) & 1;
    let end = first + 1;
    while (end < SUBCLUSTERS && ((zeros >>> end) & 1) === isZero && ((allocated >>> end) & 1) === isAllocated) end++;
    const kind = isAllocated === 1 ? "data" : isZero === 1 ? "zero" : "hole";
    const at = offset + first * length;
    const hostAt = host === NOWHERE ? NOWHERE : host + first * length;
    if (kind === "data" && at < geometry.virtualSize) checkInFile(hostAt, at, (end - first) * length, geometry);
    list.add(kind, at, (end - first) * length, hostAt);
    first = end;
  }
}
