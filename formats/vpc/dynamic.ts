/**
 * A dynamic VHD: a block allocation table (BAT), and blocks that each have a bitmap of sectors before their data.
 *
 * Virtual Hard Disk Image Format Specification 1.0, "Block Allocation Table and Data Blocks". A block that the table
 * names is read whole, as qemu 7.2 reads it. The specification calls the sectors whose bit is 0 never written, and they
 * hold zeros in every image in which the two agree; bitmaps decide only in differencing disks, which are not read.
 */
import { hex } from "../bytes.ts";
import type { DiskImage, Extent, Need, Parsing, Warning } from "../disk-format.ts";
import { FormatError } from "../errors.ts";
import { ExtentList, plainExtent } from "../extent-list.ts";
import { announce, HostRuns } from "../host-runs.ts";
import { PagedTable } from "../paged-table.ts";
import { sizeText } from "../size-text.ts";
import type { DynamicHeader } from "./dynamic-header.ts";
import { printable } from "./fixed.ts";
import { diskSize } from "./footer.ts";
import type { VhdFooter } from "./footer.ts";

const SECTOR = 512;
const BLOCK_FREE = 0xffff_ffff;

export class DynamicImage implements DiskImage {
  readonly format = "vpc";
  readonly virtualSize: number;
  readonly features: readonly string[];
  readonly warnings: readonly Warning[];
  readonly #header: DynamicHeader;
  readonly #hostSize: number | undefined;
  readonly #table: PagedTable;
  readonly #tableEnd: number;
  /** Sectors of the bitmap before each block: a bit per sector, in whole sectors. */
  readonly #bitmapSectors: number;

  /** @throws FormatError FORMAT_INVALID if the table leaves the file or is too small for the disk */
  constructor(footer: VhdFooter, header: DynamicHeader, hostSize: number | undefined, warnings: readonly Warning[]) {
    const { blockSize, maxTableEntries, tableOffset } = header;
    const covered = maxTableEntries * blockSize;
    this.virtualSize = diskSize(footer, covered);
    if (this.virtualSize > covered) {
      throw new FormatError(
        "FORMAT_INVALID",
        `the VHD's ${maxTableEntries} blocks of ${blockSize} bytes are too few for its ${this.virtualSize} bytes`,
      );
    }
    this.#tableEnd = tableOffset + maxTableEntries * 4;
    if (hostSize !== undefined && this.#tableEnd > hostSize) {
      const end = hex(this.#tableEnd);
      throw new FormatError(
        "FORMAT_INVALID",
        `the VHD's block table ends at ${end}, outside the file (${hex(hostSize)})`,
      );
    }
    const creator = `creator ${printable(footer.creatorApplication)}`;
    this.features = ["dynamic", `block size ${sizeText(blockSize)}`, creator];
    this.warnings = [...warnings, ...sizeWarnings(footer, this.virtualSize)];
    this.#header = header;
    this.#hostSize = hostSize;
    this.#bitmapSectors = Math.ceil(blockSize / SECTOR / 8 / SECTOR);
    this.#table = new PagedTable({ hostOffset: tableOffset, entryCount: maxTableEntries, littleEndian: false });
  }

  *extents(offset: number, length: number): Parsing<readonly Extent[]> {
    const { blockSize } = this.#header;
    const list = new ExtentList();
    let at = offset;
    while (at < offset + length && list.hasRoom()) {
      const inBlock = at % blockSize;
      const part = Math.min(blockSize - inBlock, offset + length - at);
      const entry = yield* this.#table.entry((at - inBlock) / blockSize);
      if (entry === BLOCK_FREE) list.add("hole", at, part);
      else list.add("data", at, part, this.#hostOffset(entry, inBlock, part));
      at += part;
    }
    return list.finish();
  }

  *scan(): Generator<Need | readonly Extent[], { readonly virtualSize: number }, Uint8Array | undefined> {
    const { blockSize } = this.#header;
    const used = Math.ceil(this.virtualSize / blockSize);
    const runs = new HostRuns(this.#bitmapSectors + blockSize / SECTOR);
    for (let block = 0; block < used;) {
      const { first, entries } = yield* this.#table.pageOf(block);
      for (; block < used && block < first + entries.length; block++) {
        const entry = entries[block - first] ?? BLOCK_FREE;
        if (entry !== BLOCK_FREE) runs.add(block, entry);
      }
    }
    yield* announce(this.#runExtents(runs));
    return { virtualSize: this.virtualSize };
  }

  /** A block at a time: the bitmaps between them are not data. */
  *#runExtents(runs: HostRuns): Generator<Extent, void, undefined> {
    const { blockSize } = this.#header;
    const stride = this.#bitmapSectors + blockSize / SECTOR;
    for (const { block, host, count } of runs.inHostOrder()) {
      for (let i = 0; i < count; i++) {
        const offset = (block + i) * blockSize;
        const length = Math.min(blockSize, this.virtualSize - offset);
        yield plainExtent(offset, length, this.#hostOffset(host + i * stride, 0, length));
      }
    }
  }

  /** Where `length` bytes from `inBlock` of the block at sector `entry` lie in the file. */
  #hostOffset(entry: number, inBlock: number, length: number): number {
    const hostOffset = (entry + this.#bitmapSectors) * SECTOR + inBlock;
    const end = hostOffset + length;
    if (this.#hostSize !== undefined && end > this.#hostSize) {
      throw new FormatError(
        "FORMAT_CORRUPT",
        `the VHD block at sector ${entry} ends at ${hex(end)}, outside the file (${hex(this.#hostSize)})`,
        { remedy: "The file is cut short or damaged: fetch it again.", context: { format: "vpc", sector: entry } },
      );
    }
    // A single pass forgets the table once it has read it.
    if (hostOffset < this.#tableEnd && end > this.#header.tableOffset) {
      throw new FormatError("FORMAT_CORRUPT", `the VHD block at sector ${entry} lies in the block table`);
    }
    return hostOffset;
  }
}

function sizeWarnings(footer: VhdFooter, virtualSize: number): readonly Warning[] {
  if (virtualSize >= footer.currentSize) return [];
  const message =
    `the disk is as large as its geometry, ${virtualSize} bytes, as ${printable(footer.creatorApplication)} showed it; ` +
    `its current size field says ${footer.currentSize}`;
  return [{ code: "VPC_SIZED_BY_GEOMETRY", message }];
}
