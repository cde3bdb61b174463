/**
 * The footer of a VHD: 512 bytes at the end of every image, and a copy of it at the start of a dynamic one.
 *
 * Virtual Hard Disk Image Format Specification 1.0, "Hard Disk Footer Format". All fields are big-endian.
 */
import { hasMagic, viewOf } from "../bytes.ts";

export const FOOTER_LENGTH = 512;
export const FOOTER_COOKIE = "conectix";

const CHECKSUM_AT = 64;
const CURRENT_SIZE_AT = 48;
const DISK_TYPE_AT = 60;
const TYPE_FIXED = 2;

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
  if (footer.length !== FOOTER_LENGTH || !hasMagic(footer, FOOTER_COOKIE)) return false;
  const view = viewOf(footer);
  if (view.getUint32(DISK_TYPE_AT) !== TYPE_FIXED) return false;
  if (view.getUint32(CHECKSUM_AT) !== vhdChecksum(footer, CHECKSUM_AT)) return false;
  const currentSize = view.getUint32(CURRENT_SIZE_AT) * 0x1_0000_0000 + view.getUint32(CURRENT_SIZE_AT + 4);
  return currentSize === diskLength;
}
