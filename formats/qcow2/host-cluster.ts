/**
 * Host offsets of clusters, as L2 entries and subclusters use them, and the checks that they share.
 *
 * The two halves of a 64-bit entry are joined by the callers, without an object or a BigInt for each of millions.
 */
import { hex } from "../bytes.ts";
import { FormatError } from "../errors.ts";
import { NOWHERE } from "../extent-list.ts";
import type { Geometry } from "./geometry.ts";

export const TWO_32 = 0x1_0000_0000;
/** Upper half of an offset up to 2^53 - 1. */
export const MAX_HIGH_HALF = 0x1f_ffff;

const OFFSET_HIGH = 0x00ff_ffff; // bits 32 to 55
const OFFSET_LOW = 0xffff_fe00; // bits 9 to 31

/**
 * The host offset in an L2 entry that is not compressed, or NOWHERE.
 * @param offset virtual offset of the cluster, for the message
 * @throws FormatError FORMAT_CORRUPT if it is misaligned, FORMAT_OUT_OF_BOUNDS above 2^53 - 1
 */
export function hostOffsetOf(high: number, low: number, offset: number, geometry: Geometry): number {
  const hostHigh = high & OFFSET_HIGH;
  const hostLow = (low & OFFSET_LOW) >>> 0;
  if (hostHigh === 0 && hostLow === 0) return NOWHERE;
  const host = hostHigh * TWO_32 + hostLow;
  if (hostHigh > MAX_HIGH_HALF) {
    throw new FormatError("FORMAT_OUT_OF_BOUNDS", `${describe(offset, host)}, above the limit of 2^53 - 1`);
  }
  if ((hostLow & (geometry.clusterSize - 1)) !== 0) {
    throw new FormatError("FORMAT_CORRUPT", `${describe(offset, host)}, which is not the start of a cluster`);
  }
  return host;
}

/**
 * Checks that plain data lies in the file: all of it that is on the disk. QEMU reads what is missing as zeros; here a
 * file that lost its end is not poured as if it were whole.
 * @param host   host offset of the first byte
 * @param offset virtual offset of the first byte
 * @throws FormatError FORMAT_CORRUPT
 */
export function checkInFile(host: number, offset: number, length: number, geometry: Geometry): void {
  if (host + Math.min(length, geometry.virtualSize - offset) > geometry.hostEnd) {
    const end = hex(geometry.hostEnd);
    throw new FormatError("FORMAT_CORRUPT", `${describe(offset, host)}, beyond the end of the file at ${end}`);
  }
}

function describe(offset: number, host: number): string {
  return `the cluster at virtual offset ${hex(offset)} lies at ${hex(host)}`;
}
