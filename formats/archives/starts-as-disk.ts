/**
 * Whether bytes start as a disk, or as something that a disk may be wrapped in: how the disk in an archive is told from
 * the files beside it.
 *
 * Raw disks have no magic of their own; they are known by what lies on nearly every one: a boot sector, a partition
 * table, an ISO 9660 descriptor or a file system.
 */
import { hasMagic } from "../bytes.ts";
import { detectCodec } from "../codecs/registry.ts";
import { detectFormat } from "../registry.ts";
import { detectArchive } from "./registry.ts";

/** Magic numbers as text, one character a byte, and where they are. */
const SIGNATURES = [
  [510, "\x55\xaa"], // boot sector: MBR, FAT, NTFS
  [512, "EFI PART"], // GPT, sectors of 512
  [4096, "EFI PART"], // GPT, sectors of 4096
  [32_769, "CD001"], // ISO 9660
  [0x438, "\x53\xef"], // ext2, ext3, ext4
  [0, "XFSB"],
] as const;

/** @param head the first 64 KiB of the file, or all of it */
export function startsAsDisk(head: Uint8Array): boolean {
  return (
    SIGNATURES.some(([at, magic]) => hasMagic(head, magic, at)) ||
    detectFormat(head, undefined).name !== "raw" ||
    detectCodec(head) !== undefined ||
    detectArchive(head) !== undefined
  );
}
