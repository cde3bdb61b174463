/**
 * The footer of a VHD: 512 bytes at the end of every image, and a copy of it at the start of a dynamic one.
 *
 * Virtual Hard Disk Image Format Specification 1.0, "Hard Disk Footer Format". All fields are big-endian.
 */
import { alignDown, ascii, hasMagic, u64be, viewOf } from "../bytes.ts";

export const FOOTER_LENGTH = 512;
export const FOOTER_COOKIE = "conectix";

export const TYPE_FIXED = 2;
export const TYPE_DYNAMIC = 3;
export const TYPE_DIFFERENCING = 4;

const DATA_OFFSET_AT = 16;
const CREATOR_APPLICATION_AT = 28;
const CURRENT_SIZE_AT = 48;
const GEOMETRY_AT = 56; // cylinders (2 bytes), heads, sectors per track
const DISK_TYPE_AT = 60;
const CHECKSUM_AT = 64;

const SECTOR = 512;
const MAX_GEOMETRY = 65_535 * 16 * 255 * SECTOR; // larger disks cannot say their size in cylinders

/** Creators whose guests see as many sectors as the geometry has: Virtual PC, Virtual Server, old qemu-img. */
const SIZED_BY_GEOMETRY = ["vpc ", "vs  ", "qemu"];
/** Creators whose geometry says nothing: Hyper-V, Disk2vhd, qemu-img with force_size, XenServer, Azure. */
const SIZED_BY_FIELD = ["win ", "d2v ", "qem2", "tap\0", "wa\0\0"];

export interface VhdFooter {
  readonly type: number;
  /** Four characters, padded with spaces or zeros. */
  readonly creatorApplication: string;
  /** Bytes of the disk as the "current size" field says, cut to whole sectors as qemu does. */
  readonly currentSize: number;
  /** Bytes of the disk as the "disk geometry" field says. */
  readonly geometrySize: number;
}

/** @param footer 512 bytes for which `isIntactFooter` holds */
export function decodeFooter(footer: Uint8Array): VhdFooter {
  const view = viewOf(footer);
  const heads = view.getUint8(GEOMETRY_AT + 2);
  const sectorsPerTrack = view.getUint8(GEOMETRY_AT + 3);
  return {
    type: view.getUint32(DISK_TYPE_AT),
    creatorApplication: ascii(footer, CREATOR_APPLICATION_AT, CREATOR_APPLICATION_AT + 4),
    currentSize: alignDown(u64be(view, CURRENT_SIZE_AT, "VHD current size"), SECTOR),
    geometrySize: view.getUint16(GEOMETRY_AT) * heads * sectorsPerTrack * SECTOR,
  };
}

/**
 * Host offset of the dynamic header, the "data offset" field; only dynamic and differencing disks have one.
 * @throws FormatError FORMAT_OUT_OF_BOUNDS above 2^53 - 1
 */
export function dynamicHeaderOffset(footer: Uint8Array): number {
  return u64be(viewOf(footer), DATA_OFFSET_AT, "VHD data offset");
}

/**
 * Bytes of a dynamic disk. Two fields state it, and who wrote the file decides which one the guest saw.
 *
 * As qemu 7.2: the geometry for images of Virtual PC, Virtual Server and qemu-img without force_size, the current size
 * for those of Hyper-V and others that are known, and for each disk that is too large for a geometry. Otherwise than
 * qemu: a geometry beyond the block table is passed over, not refused; and images of other creators (VirtualBox) are
 * never cut to a geometry that is smaller than the current size, because their guests saw all of it.
 * @param covered bytes that the block table has entries for
 */
export function diskSize(footer: VhdFooter, covered: number): number {
  const { creatorApplication, currentSize, geometrySize } = footer;
  if (geometrySize === 0 || geometrySize === MAX_GEOMETRY || geometrySize > covered) return currentSize;
  if (SIZED_BY_GEOMETRY.includes(creatorApplication)) return geometrySize;
  return SIZED_BY_FIELD.includes(creatorApplication) ? currentSize : Math.max(currentSize, geometrySize);
}

/** True if `footer` is 512 bytes with the cookie and a checksum that holds. */
export function isIntactFooter(footer: Uint8Array): boolean {
  if (footer.length !== FOOTER_LENGTH || !hasMagic(footer, FOOTER_COOKIE)) return false;
  return viewOf(footer).getUint32(CHECKSUM_AT) === vhdChecksum(footer, CHECKSUM_AT);
}

/** The type in a footer that is intact. */
export function diskType(footer: Uint8Array): number {
  return viewOf(footer).getUint32(DISK_TYPE_AT);
}

/**
 * The ones' complement of the sum of all bytes of `structure`, its own checksum field at `checksumAt` left out.
 * Footer and dynamic header use the same sum.
 */
export function vhdChecksum(structure: Uint8Array, checksumAt: number): number {
  let sum = 0;
  for (let i = 0; i < structure.length; i++) {
    if (i < checksumAt || i >= checksumAt + 4) sum += structure[i] ?? 0;
  }
  return ~sum >>> 0;
}

/**
 * True if `footer` ends a fixed VHD whose disk is the `diskLength` bytes before it: cookie, checksum and type 2 hold and
 * the current size is that length.
 * @param footer the last 512 bytes of the file
 */
export function isFixedVhdFooter(footer: Uint8Array, diskLength: number): boolean {
  if (!isIntactFooter(footer) || diskType(footer) !== TYPE_FIXED) return false;
  const view = viewOf(footer);
  const currentSize = view.getUint32(CURRENT_SIZE_AT) * 0x1_0000_0000 + view.getUint32(CURRENT_SIZE_AT + 4);
  return currentSize === diskLength;
}
