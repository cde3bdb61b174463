/**
 * VMDK, the disk image of VMware: one sparse extent that is the whole disk (monolithicSparse, streamOptimized).
 *
 * VMware "Virtual Disk Format 5.0", hosted sparse and stream-optimized extents, versions 1 to 3; checked against files
 * and readings of qemu-img 7.2, whose own stream-optimized files have their tables in front and no end-of-stream marker.
 * Stricter than qemu: an extent of a split disk is not taken for a disk, and a grain that the file ends before is an error.
 * Recognised and refused, each by its name: descriptors (flat, split and device-backed disks), which are never followed;
 * parents (snapshots, linked clones); seSparse; COWD (vmfsSparse).
 */
import { ask } from "../ask.ts";
import type { Asking } from "../ask.ts";
import { hasMagic, hex, MIB } from "../bytes.ts";
import type { DiskFormat } from "../disk-format.ts";
import { FormatError } from "../errors.ts";
import {
  checkEmbeddedDescriptor,
  DESCRIPTOR_MAGIC,
  MAX_DESCRIPTOR_LENGTH,
  parseDescriptor,
  refuseDescriptorFile,
  refuseLoneExtent,
} from "./descriptor.ts";
import { GrainTables } from "./grain-tables.ts";
import { readFooter } from "./markers.ts";
import { SparseImage } from "./sparse-image.ts";
import { decodeSparseHeader, SPARSE_HEADER_LENGTH, SPARSE_MAGIC } from "./sparse-header.ts";
import type { SparseHeader } from "./sparse-header.ts";

const COWD_MAGIC = "COWD";
const SE_SPARSE_MAGIC = "\xbe\xba\xfe\xca\0\0\0\0"; // the 64-bit number 0xcafebabe
const MAX_DESCRIPTOR_OFFSET = 64 * MIB; // it is at 512 in every known file; a stream is not read far for it

export const vmdk: DiskFormat = {
  name: "vmdk",
  probe: (head) => [SPARSE_MAGIC, COWD_MAGIC, SE_SPARSE_MAGIC, DESCRIPTOR_MAGIC].some((magic) => hasMagic(head, magic)),
  *open(hostSize) {
    const start = yield* ask({ offset: 0, length: SPARSE_HEADER_LENGTH, shortAtEnd: true });
    if (hasMagic(start, DESCRIPTOR_MAGIC)) return refuseDescriptorFile(yield* readDescriptorFile());
    refuseOtherExtents(start);
    if (!hasMagic(start, SPARSE_MAGIC)) throw new FormatError("FORMAT_UNRECOGNISED", "the file is not a VMDK image");
    if (start.length < SPARSE_HEADER_LENGTH) {
      throw new FormatError("FORMAT_INVALID", `the VMDK ends inside its header, after ${start.length} bytes`);
    }
    const header = decodeSparseHeader(start);
    yield* checkDescriptor(header);
    if (header.virtualSize === 0) throw new FormatError("FORMAT_INVALID", "the VMDK's capacity is 0");
    if (hostSize !== undefined && header.overhead > hostSize) {
      const message = `the VMDK ends at ${hex(hostSize)}, inside its metadata of ${header.overhead} bytes`;
      throw new FormatError("FORMAT_INVALID", message, { remedy: "The file is cut short: fetch it again." });
    }
    let directoryOffset = header.directoryOffset;
    if (directoryOffset === undefined && hostSize !== undefined) directoryOffset = yield* readFooter(header, hostSize);
    const tables = directoryOffset === undefined ? undefined : new GrainTables(header, directoryOffset, hostSize);
    return new SparseImage(header, tables, hostSize);
  },
};

function* readDescriptorFile(): Asking<ReturnType<typeof parseDescriptor>> {
  return parseDescriptor(yield* ask({ offset: 0, length: MAX_DESCRIPTOR_LENGTH, shortAtEnd: true }));
}

/** Accepts an extent only if its descriptor says that it is the whole disk. */
function* checkDescriptor({ descriptorOffset, descriptorLength }: SparseHeader): Asking<void> {
  if (descriptorOffset === 0 || descriptorLength === 0) refuseLoneExtent();
  if (descriptorOffset > MAX_DESCRIPTOR_OFFSET || descriptorLength > MAX_DESCRIPTOR_LENGTH) {
    throw new FormatError(
      "FORMAT_OUT_OF_BOUNDS",
      `the VMDK's descriptor, ${descriptorLength} bytes at ${hex(descriptorOffset)}, is beyond the limit of ` +
        `${MAX_DESCRIPTOR_LENGTH} bytes within ${MAX_DESCRIPTOR_OFFSET}`,
    );
  }
  checkEmbeddedDescriptor(parseDescriptor(yield* ask({ offset: descriptorOffset, length: descriptorLength })));
}

function refuseOtherExtents(start: Uint8Array): void {
  if (hasMagic(start, COWD_MAGIC)) {
    throw new FormatError("FORMAT_UNSUPPORTED", "this VMDK is a COWD extent (vmfsSparse), a snapshot of ESX", {
      remedy:
        "Consolidate the snapshots of the virtual machine first, or clone the disk: vmkfstools -i <disk> <new disk>.",
    });
  }
  if (hasMagic(start, SE_SPARSE_MAGIC)) {
    throw new FormatError("FORMAT_UNSUPPORTED", "this VMDK is a space-efficient sparse extent (seSparse) of ESXi", {
      remedy:
        "Consolidate the snapshots of the virtual machine first, or clone the disk: vmkfstools -i <disk> <new disk>.",
    });
  }
}
