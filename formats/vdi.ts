/**
 * VDI, the disk image of VirtualBox, version 1.1: dynamic and static.
 *
 * There is no document of the vendor. Field names are those of VirtualBox's `VDICore.h`, the layout was checked against
 * files of qemu-img 7.2. A header, a block map of one 32-bit entry per block, then the blocks. Little-endian.
 *
 * Read further than qemu does: block sizes other than 1 MiB, which the format allows. Stricter than qemu: a block that
 * the file ends before is an error, not zeros, and images of types that need a parent are refused by their type.
 * Not read: differencing and undo images, other versions, extra bytes per block.
 */
import { ask } from "./ask.ts";
import { alignUp, hex, isAligned, isPowerOfTwo, KIB, MIB, u64le, viewOf } from "./bytes.ts";
import type { DiskFormat, DiskImage, Extent, Need, Parsing } from "./disk-format.ts";
import { FormatError } from "./errors.ts";
import { ExtentList, plainExtent } from "./extent-list.ts";
import { announce, HostRuns } from "./host-runs.ts";
import { PagedTable } from "./paged-table.ts";
import { sizeText } from "./size-text.ts";

const SECTOR = 512;
const HEADER_LENGTH = 512; // the pre-header of 72 bytes and the header of version 1.1, 400 bytes
const SIGNATURE_AT = 64;
const SIGNATURE = 0xbeda107f;
const VERSION_1_1 = 0x0001_0001;

const TYPE_DYNAMIC = 1;
const TYPE_STATIC = 2;
const TYPE_UNDO = 3;
const TYPE_DIFFERENCING = 4;

/** Entries of the block map that are not the number of a block in the file. */
const BLOCK_FREE = 0xffff_ffff; // never written
const BLOCK_ZERO = 0xffff_fffe; // discarded: reads as zeros

const MIN_BLOCK_SIZE = 4 * KIB;
const MAX_BLOCK_SIZE = 256 * MIB;
const MAX_BLOCKS = 0x2000_0000; // 512 TiB of 1 MiB blocks; qemu's limit is just below

const MERGE = "Merge it into its parent first: VBoxManage clonemedium disk <this image> <new image>.";

interface VdiHeader {
  readonly type: number;
  /** Host offsets in bytes. */
  readonly blockMapOffset: number;
  readonly dataOffset: number;
  readonly virtualSize: number;
  readonly blockSize: number;
  readonly blockCount: number;
}

export const vdi: DiskFormat = {
  name: "vdi",
  probe: (head) => head.length >= SIGNATURE_AT + 4 && viewOf(head).getUint32(SIGNATURE_AT, true) === SIGNATURE,
  *open(hostSize) {
    const header = decodeHeader(yield* ask({ offset: 0, length: HEADER_LENGTH }));
    const mapEnd = header.blockMapOffset + header.blockCount * 4;
    if (hostSize !== undefined && mapEnd > hostSize) {
      throw new FormatError(
        "FORMAT_INVALID",
        `the block map ends at ${hex(mapEnd)}, outside the file (${hex(hostSize)})`,
      );
    }
    return new VdiImage(header, hostSize);
  },
};

class VdiImage implements DiskImage {
  readonly format = "vdi";
  readonly virtualSize: number;
  readonly features: readonly string[];
  readonly warnings = [];
  readonly #header: VdiHeader;
  readonly #hostSize: number | undefined;
  readonly #blockMap: PagedTable;

  constructor(header: VdiHeader, hostSize: number | undefined) {
    this.virtualSize = header.virtualSize;
    this.features = [header.type === TYPE_STATIC ? "static" : "dynamic", `block size ${sizeText(header.blockSize)}`];
    this.#header = header;
    this.#hostSize = hostSize;
    this.#blockMap = new PagedTable({
      hostOffset: header.blockMapOffset,
      entryCount: header.blockCount,
      littleEndian: true,
    });
  }

  *extents(offset: number, length: number): Parsing<readonly Extent[]> {
    const { blockSize } = this.#header;
    const list = new ExtentList();
    let at = offset;
    while (at < offset + length && list.hasRoom()) {
      const inBlock = at % blockSize;
      const part = Math.min(blockSize - inBlock, offset + length - at);
      const entry = yield* this.#blockMap.entry((at - inBlock) / blockSize);
      if (entry === BLOCK_FREE) list.add("hole", at, part);
      else if (entry === BLOCK_ZERO) list.add("zero", at, part);
      else list.add("data", at, part, this.#hostOffset(entry, inBlock, part));
      at += part;
    }
    return list.finish();
  }

  *scan(): Generator<Need | readonly Extent[], { readonly virtualSize: number }, Uint8Array | undefined> {
    const { blockSize } = this.#header;
    const used = Math.ceil(this.virtualSize / blockSize);
    const runs = new HostRuns(1);
    for (let block = 0; block < used;) {
      const { first, entries } = yield* this.#blockMap.pageOf(block);
      for (; block < used && block < first + entries.length; block++) {
        const entry = entries[block - first] ?? BLOCK_FREE;
        if (entry < BLOCK_ZERO) runs.add(block, entry);
      }
    }
    yield* announce(this.#runExtents(runs));
    return { virtualSize: this.virtualSize };
  }

  *#runExtents(runs: HostRuns): Generator<Extent, void, undefined> {
    const { blockSize } = this.#header;
    for (const { block, host, count } of runs.inHostOrder()) {
      const offset = block * blockSize;
      const length = Math.min(count * blockSize, this.virtualSize - offset);
      yield plainExtent(offset, length, this.#hostOffset(host, 0, length));
    }
  }

  /** Where `length` bytes from `inBlock` of the block that the map calls `entry` lie in the file. */
  #hostOffset(entry: number, inBlock: number, length: number): number {
    const hostOffset = this.#header.dataOffset + entry * this.#header.blockSize + inBlock;
    const end = hostOffset + length;
    if (end > (this.#hostSize ?? Number.MAX_SAFE_INTEGER)) {
      const size = this.#hostSize === undefined ? "of any possible size" : `(${hex(this.#hostSize)})`;
      throw new FormatError("FORMAT_CORRUPT", `block ${entry} ends at ${hex(end)}, outside the file ${size}`, {
        remedy: "The file is cut short or damaged: fetch it again.",
        context: { format: "vdi", block: entry },
      });
    }
    return hostOffset;
  }
}

function decodeHeader(bytes: Uint8Array): VdiHeader {
  const view = viewOf(bytes);
  const u32 = (at: number): number => view.getUint32(at, true);
  if (u32(SIGNATURE_AT) !== SIGNATURE) throw new FormatError("FORMAT_UNRECOGNISED", "the file is not a VDI image");
  if (u32(68) !== VERSION_1_1) {
    throw new FormatError(
      "FORMAT_UNSUPPORTED",
      `VDI version ${u32(68) >>> 16}.${u32(68) & 0xffff} is not read, only 1.1`,
      {
        remedy: "Copy the image with VirtualBox: VBoxManage clonemedium disk <this image> <new image>.",
      },
    );
  }
  const type = u32(76);
  checkType(type, bytes.subarray(424, 456));
  if (u32(360) !== SECTOR)
    throw new FormatError("FORMAT_UNSUPPORTED", `VDI sector size ${u32(360)} is not read, only 512`);
  if (u32(380) !== 0)
    throw new FormatError("FORMAT_UNSUPPORTED", `VDI with ${u32(380)} extra bytes per block is not read`);
  const header = {
    type,
    blockMapOffset: u32(340),
    dataOffset: u32(344),
    virtualSize: alignUp(u64le(view, 368, "disk size"), SECTOR), // qemu rounds an odd size up too
    blockSize: u32(376),
    blockCount: u32(384),
  };
  checkLayout(header);
  return header;
}

/** @param links the UUIDs of the linked and of the parent image; all zero in an image that stands alone */
function checkType(type: number, links: Uint8Array): void {
  if (type === TYPE_DIFFERENCING || type === TYPE_UNDO) {
    const name = type === TYPE_UNDO ? "an undo" : "a differencing";
    throw new FormatError("FORMAT_UNSUPPORTED", `this VDI is ${name} image: it needs its parent`, { remedy: MERGE });
  }
  if (type !== TYPE_DYNAMIC && type !== TYPE_STATIC) {
    throw new FormatError("FORMAT_UNSUPPORTED", `VDI image type ${type} is not known`);
  }
  if (links.some((byte) => byte !== 0)) {
    throw new FormatError("FORMAT_UNSUPPORTED", "this VDI names a parent image: it does not stand alone", {
      remedy: MERGE,
    });
  }
}

function checkLayout({ blockMapOffset, dataOffset, virtualSize, blockSize, blockCount }: VdiHeader): void {
  if (!isPowerOfTwo(blockSize) || blockSize < MIN_BLOCK_SIZE || blockSize > MAX_BLOCK_SIZE) {
    throw new FormatError(
      "FORMAT_OUT_OF_BOUNDS",
      `VDI block size ${blockSize} is not a power of two from ${MIN_BLOCK_SIZE} to ${MAX_BLOCK_SIZE}`,
    );
  }
  if (blockCount > MAX_BLOCKS) {
    throw new FormatError("FORMAT_OUT_OF_BOUNDS", `VDI block count ${blockCount} is above the limit of ${MAX_BLOCKS}`);
  }
  if (virtualSize > blockCount * blockSize) {
    throw new FormatError(
      "FORMAT_INVALID",
      `the VDI's disk size ${virtualSize} is larger than its ${blockCount} blocks of ${blockSize} bytes`,
    );
  }
  if (blockMapOffset < HEADER_LENGTH || !isAligned(blockMapOffset, SECTOR)) {
    throw new FormatError("FORMAT_INVALID", `the VDI's block map offset ${hex(blockMapOffset)} is impossible`);
  }
  // Blocks after their map: a single pass forgets the map once it has read it.
  if (dataOffset < blockMapOffset + blockCount * 4 || !isAligned(dataOffset, SECTOR)) {
    throw new FormatError("FORMAT_INVALID", `the VDI's data offset ${hex(dataOffset)} is impossible`);
  }
}
