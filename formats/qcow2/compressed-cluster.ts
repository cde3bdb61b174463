/**
 * Compressed clusters: an L2 entry with bit 62 holds a byte offset and a count of 512-byte sectors.
 *
 * The count's width is cluster_bits - 8, so the offset's is 62 minus that. The first sector is the one the offset lies
 * in; the count is of sectors after it. So the bytes may start inside a sector and straddle host clusters, and the length
 * is an upper bound, which may reach beyond the end of the file.
 */
import { hex } from "../bytes.ts";
import { FormatError } from "../errors.ts";
import type { ExtentList } from "../extent-list.ts";
import type { Geometry } from "./geometry.ts";
import { MAX_HIGH_HALF, TWO_32 } from "./host-cluster.ts";

const SECTOR = 512;

/**
 * Adds one compressed cluster.
 * @param high   upper half of the L2 entry
 * @param low    lower half of the L2 entry
 * @param offset virtual offset of the cluster
 * @throws FormatError FORMAT_CORRUPT if it starts beyond the end of the file, FORMAT_OUT_OF_BOUNDS above 2^53 - 1
 */
export function addCompressed(high: number, low: number, offset: number, geometry: Geometry, list: ExtentList): void {
  const offsetBitsInHigh = 62 - (geometry.clusterBits - 8) - 32; // 17 to 29
  const fields = high & 0x3fff_ffff;
  const hostHigh = fields & (2 ** offsetBitsInHigh - 1);
  const host = hostHigh * TWO_32 + low;
  if (hostHigh > MAX_HIGH_HALF) {
    throw new FormatError("FORMAT_OUT_OF_BOUNDS", `${describe(offset, host)}, above the limit of 2^53 - 1`);
  }
  if (host >= geometry.hostEnd) {
    throw new FormatError(
      "FORMAT_CORRUPT",
      `${describe(offset, host)}, beyond the end of the file at ${hex(geometry.hostEnd)}`,
    );
  }
  const sectors = (fields >>> offsetBitsInHigh) + 1;
  list.addEncoded(offset, geometry.clusterSize, {
    encoding: geometry.encoding,
    offset: host,
    length: sectors * SECTOR - (host % SECTOR),
    decodedLength: geometry.clusterSize,
    skip: 0,
  });
}

function describe(offset: number, host: number): string {
  return `the compressed cluster at virtual offset ${hex(offset)} starts at ${hex(host)}`;
}
