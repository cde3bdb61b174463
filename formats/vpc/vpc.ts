/**
 * VHD, the disk image of Virtual PC, Hyper-V and Azure, which qemu-img calls vpc: fixed and dynamic.
 *
 * Virtual Hard Disk Image Format Specification 1.0 (Microsoft). Every image ends in a footer; a dynamic one starts with a
 * copy of it. Decided by content: a raw file named .vhd has no footer and is raw. `diskSize` in footer.ts says which of
 * the two sizes in a footer holds. Stricter than qemu: the dynamic header's checksum must hold and every block must lie
 * in the file. More tolerant: where the copy at the start is damaged, the footer at the end serves.
 * Not read: differencing disks. A fixed image in a stream of unknown length is recognised at its end, by raw.
 */
import { ask } from "../ask.ts";
import type { Asking } from "../ask.ts";
import { hasMagic } from "../bytes.ts";
import type { DiskFormat, Warning } from "../disk-format.ts";
import { FormatError } from "../errors.ts";
import { decodeDynamicHeader, DYNAMIC_HEADER_COOKIE, DYNAMIC_HEADER_LENGTH } from "./dynamic-header.ts";
import { DynamicImage } from "./dynamic.ts";
import { FixedImage } from "./fixed.ts";
import {
  decodeFooter,
  diskType,
  dynamicHeaderOffset,
  FOOTER_COOKIE,
  FOOTER_LENGTH,
  isIntactFooter,
  TYPE_DIFFERENCING,
  TYPE_DYNAMIC,
  TYPE_FIXED,
} from "./footer.ts";

export const vpc: DiskFormat = {
  name: "vpc",
  probe(head, tail) {
    if (hasMagic(head, FOOTER_COOKIE)) return true;
    if (tail === undefined || !isIntactFooter(tail)) return false;
    // A dynamic image whose first bytes are damaged still has its header.
    return diskType(tail) === TYPE_FIXED || hasMagic(head, DYNAMIC_HEADER_COOKIE, FOOTER_LENGTH);
  },
  *open(hostSize) {
    const { footer, warnings } = yield* findFooter(hostSize);
    const type = diskType(footer);
    if (type === TYPE_DIFFERENCING) {
      throw new FormatError("FORMAT_UNSUPPORTED", "this VHD is a differencing disk: it needs its parent", {
        remedy: "Merge it into its parent first: Merge-VHD (Hyper-V) or VBoxManage clonemedium.",
      });
    }
    if (type === TYPE_FIXED && hostSize !== undefined) return new FixedImage(decodeFooter(footer), hostSize);
    if (type !== TYPE_DYNAMIC) {
      throw new FormatError("FORMAT_INVALID", `a VHD of type ${type} does not start with a footer`);
    }
    const decoded = decodeFooter(footer);
    const headerOffset = dynamicHeaderOffset(footer);
    if (headerOffset < FOOTER_LENGTH || headerOffset + DYNAMIC_HEADER_LENGTH > (hostSize ?? Number.MAX_SAFE_INTEGER)) {
      throw new FormatError("FORMAT_INVALID", `the VHD's dynamic header cannot be at ${headerOffset}`);
    }
    const header = decodeDynamicHeader(yield* ask({ offset: headerOffset, length: DYNAMIC_HEADER_LENGTH }));
    return new DynamicImage(decoded, header, hostSize, warnings);
  },
};

interface FoundFooter {
  /** Intact, and ours to keep. */
  readonly footer: Uint8Array;
  readonly warnings: readonly Warning[];
}

/** The copy at the start if it is intact, else the footer at the end. */
function* findFooter(hostSize: number | undefined): Asking<FoundFooter> {
  const head = Uint8Array.from(yield* ask({ offset: 0, length: FOOTER_LENGTH, shortAtEnd: true }));
  if (isIntactFooter(head)) return { footer: head, warnings: [] };
  if (hostSize !== undefined && hostSize >= FOOTER_LENGTH) {
    const tail = Uint8Array.from(yield* ask({ offset: hostSize - FOOTER_LENGTH, length: FOOTER_LENGTH }));
    if (isIntactFooter(tail)) {
      const message = "the copy of the footer at the start of the VHD is damaged; the footer at the end was used";
      const damaged = diskType(tail) === TYPE_FIXED ? [] : [{ code: "VPC_FOOTER_COPY_DAMAGED", message }];
      return { footer: tail, warnings: damaged };
    }
  }
  if (!hasMagic(head, FOOTER_COOKIE)) throw new FormatError("FORMAT_UNRECOGNISED", "the file is not a VHD image");
  throw new FormatError("FORMAT_CORRUPT", "the checksum of the VHD's footer does not match", {
    remedy: "The file is cut short or damaged: fetch it again.",
  });
}
