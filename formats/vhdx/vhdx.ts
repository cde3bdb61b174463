/**
 * VHDX, Hyper-V's disk image ([MS-VHDX]): dynamic and fixed.
 *
 * The header section names the log and the regions; the metadata region holds the sizes, the BAT where each payload block
 * lies. A log that was not replayed is replayed in memory ("overlay"): every structure is read through it, and where it
 * touches payload the extent is stored inline. Differencing disks are refused.
 *
 * `qemu-img map` shows all of a VHDX as data (its driver does not tell); here blocks that read as zeros are zero or hole.
 */
import { hex, MIB } from "../bytes.ts";
import type { DiskFormat, DiskImage, Extent, Need, Parsing, Warning } from "../disk-format.ts";
import { FormatError } from "../errors.ts";
import { Bat, BAT_PAGE_LENGTH } from "./bat.ts";
import type { BatPage } from "./bat.ts";
import { ExtentList } from "../extent-list.ts";
import { HEADER_SECTION_USED, isVhdx, readHeader } from "./header.ts";
import { HostFile } from "./host-file.ts";
import { replayLog } from "./log.ts";
import { readMetadata } from "./metadata.ts";
import type { DiskParameters } from "./metadata.ts";
import { readRegionTable, regionAt } from "./region-table.ts";
import type { RegionTable } from "./region-table.ts";

export const vhdx: DiskFormat = {
  name: "vhdx",
  probe: (head) => isVhdx(head),
  *open(hostSize) {
    const warnings: Warning[] = [];
    const stored = new HostFile(hostSize, undefined);
    const section = yield* stored.read(0, HEADER_SECTION_USED);
    const header = readHeader(section, warnings);
    let file = stored;
    if (header.logGuid !== undefined) {
      const { overlay, entryCount } = yield* replayLog(stored, header.logOffset, header.logLength, header.logGuid);
      file = new HostFile(hostSize, overlay);
      overlay.patch(section, 0);
      const message = `the log was in use: it was replayed in memory (entries: ${entryCount}), the file is unchanged`;
      warnings.push({ code: "VHDX_LOG_REPLAYED", message });
    }
    const regions = readRegionTable(section, header, file.size, warnings);
    // A stream passes the BAT before the metadata says how much of it is used: one page is taken along.
    const batFirst = regions.bat.offset < regions.metadata.offset && regions.bat.length > 0;
    const batStart = batFirst
      ? yield* file.read(regions.bat.offset, Math.min(BAT_PAGE_LENGTH, regions.bat.length))
      : undefined;
    const disk = yield* readMetadata(file, regions.metadata);
    return new VhdxImage({ file, regions, disk, bat: new Bat(file, regions.bat, disk, batStart), warnings });
  },
};

interface Opened {
  readonly file: HostFile;
  readonly regions: RegionTable;
  readonly disk: DiskParameters;
  readonly bat: Bat;
  readonly warnings: readonly Warning[];
}

class VhdxImage implements DiskImage {
  readonly format = "vhdx";
  readonly virtualSize: number;
  readonly features: readonly string[];
  readonly warnings: readonly Warning[];
  readonly #file: HostFile;
  readonly #regions: RegionTable;
  readonly #blockSize: number;
  readonly #bat: Bat;

  constructor({ file, regions, disk, bat, warnings }: Opened) {
    this.#file = file;
    this.#regions = regions;
    this.#blockSize = disk.blockSize;
    this.#bat = bat;
    this.virtualSize = disk.virtualSize;
    this.warnings = warnings;
    this.features = [
      disk.leaveBlocksAllocated ? "fixed" : "dynamic",
      `block size ${disk.blockSize / MIB} MiB`,
      `logical sector size ${disk.logicalSectorSize}`,
    ];
  }

  *extents(offset: number, length: number): Parsing<readonly Extent[]> {
    const end = offset + length;
    const endBlock = Math.ceil(end / this.#blockSize);
    const list = new ExtentList();
    let at = offset;
    while (at < end && list.hasRoom()) {
      const page = yield* this.#bat.pageOf(Math.floor(at / this.#blockSize));
      const pageEnd = Math.min(end, page.endBlock * this.#blockSize);
      while (at < pageEnd && list.hasRoom()) {
        const block = Math.floor(at / this.#blockSize);
        const kind = page.kindOf(block);
        if (kind === "data") {
          const skip = at - block * this.#blockSize;
          at += this.#addPiece(list, at, this.#placeOf(page, block) + skip, Math.min(end - at, this.#blockSize - skip));
        } else {
          const runEnd = Math.min(end, page.endOfRun(block, endBlock) * this.#blockSize);
          list.add(kind, at, runEnd - at);
          at = runEnd;
        }
      }
    }
    return list.finish();
  }

  *scan(): Generator<Need | readonly Extent[], { readonly virtualSize: number }, Uint8Array | undefined> {
    const list = new ExtentList();
    for (let block = 0; block < this.#bat.blockCount;) {
      const page: BatPage = yield* this.#page(block);
      for (const present of this.#inHostOrder(page, block)) {
        const start = present * this.#blockSize;
        const length = Math.min(this.#blockSize, this.virtualSize - start);
        const place = this.#placeOf(page, present);
        for (let done = 0; done < length;) {
          done += this.#addPiece(list, start + done, place + done, length - done);
          if (!list.hasRoom()) yield list.finish();
        }
      }
      // Before the next page is waited for. What is not announced reads as zeros, blocks of state ZERO too.
      if (!list.isEmpty) yield list.finish();
      block = page.endBlock;
    }
    return { virtualSize: this.virtualSize };
  }

  *#page(block: number): Generator<Need, BatPage, Uint8Array | undefined> {
    const parsing = this.#bat.pageOf(block);
    let step = parsing.next();
    while (step.done !== true) step = parsing.next((yield step.value) ?? new Uint8Array());
    return step.value;
  }

  /**
   * The blocks of a page that have data, by ascending host offset. A page has at most 2^17 entries and a host offset at
   * most 2^33 units of 1 MiB, so both fit one number, and numbers sort without a comparison function.
   */
  *#inHostOrder(page: BatPage, firstBlock: number): Generator<number> {
    const { endBlock } = page;
    const span = endBlock - firstBlock;
    let keys = new Float64Array();
    let count = 0;
    for (let block = firstBlock; block < endBlock;) {
      if (page.kindOf(block) !== "data") {
        block = page.endOfRun(block, endBlock);
        continue;
      }
      if (keys.length === 0) keys = new Float64Array(endBlock - block);
      keys[count++] = (page.hostOffsetOf(block) / MIB) * span + (block - firstBlock);
      block++;
    }
    for (const key of keys.subarray(0, count).toSorted()) yield firstBlock + (key % span);
  }

  /**
   * Adds one piece of a block with data, at most `length` bytes; where the overlay begins or ends, the piece ends.
   * @returns its length, at least 1
   */
  #addPiece(list: ExtentList, offset: number, hostOffset: number, length: number): number {
    const piece = this.#file.overlay?.pieceAt(hostOffset, hostOffset + length) ?? { kind: "file", length };
    if (piece.bytes !== undefined) list.addInline(offset, piece.bytes);
    else if (piece.kind === "zero") list.add("zero", offset, piece.length);
    else list.add("data", offset, piece.length, hostOffset);
    return piece.length;
  }

  /**
   * The host offset of a block with data. The last block may be cut short where the disk ends.
   * @throws FormatError FORMAT_CORRUPT if it is outside the file or overlaps a region
   */
  #placeOf(page: BatPage, block: number): number {
    const hostOffset = page.hostOffsetOf(block);
    const length = Math.min(this.#blockSize, this.virtualSize - block * this.#blockSize);
    const region = regionAt(this.#regions.occupied, hostOffset, length);
    const { size } = this.#file;
    if (region === undefined && (size === undefined || hostOffset + length <= size)) return hostOffset;
    const where =
      region === undefined ? `lies outside the file (size ${hex(size ?? 0)})` : `overlaps the ${region.name}`;
    throw new FormatError("FORMAT_CORRUPT", `block ${block} at host offset ${hex(hostOffset)} ${where}`, {
      remedy: "The file was cut short or is damaged; copy it again.",
    });
  }
}
