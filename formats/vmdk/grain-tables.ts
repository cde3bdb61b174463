/**
 * The grain directory and the grain tables of a sparse extent, read as they are needed.
 *
 * VMware "Virtual Disk Format 5.0", "Grain Directory" and "Grain Table". An entry of the directory is the sector of a
 * table, an entry of a table the sector of a grain; 0 is neither. Tables that lie next to each other are read together:
 * one request for 1 GiB of a usual disk.
 */
import { ask } from "../ask.ts";
import type { Asking } from "../ask.ts";
import { hex } from "../bytes.ts";
import { FormatError } from "../errors.ts";
import { decodeEntries, PagedTable } from "../paged-table.ts";
import { grainTableLength, SECTOR } from "./sparse-header.ts";
import type { SparseHeader } from "./sparse-header.ts";

const READ_AHEAD_TABLES = 32; // 64 KiB
const CACHED_TABLES = 8 * READ_AHEAD_TABLES; // 512 KiB: several drivers of one image walk it at different places

export class GrainTables {
  readonly directory: PagedTable;
  readonly #header: SparseHeader;
  readonly #hostSize: number | undefined;
  readonly #tableLength: number;
  readonly #tables = new Map<number, Uint32Array>();

  /**
   * @param directoryOffset host offset of the grain directory
   * @throws FormatError FORMAT_INVALID if the directory leaves the file
   */
  constructor(header: SparseHeader, directoryOffset: number, hostSize: number | undefined) {
    const end = directoryOffset + header.directoryEntries * 4;
    if (hostSize !== undefined && end > hostSize) {
      throw new FormatError(
        "FORMAT_INVALID",
        `the VMDK's grain directory ends at ${hex(end)}, outside the file (${hex(hostSize)})`,
      );
    }
    this.directory = new PagedTable({
      hostOffset: directoryOffset,
      entryCount: header.directoryEntries,
      littleEndian: true,
    });
    this.#header = header;
    this.#hostSize = hostSize;
    this.#tableLength = grainTableLength(header);
  }

  /** Grain table `index`, or undefined where the directory has none. */
  *table(index: number): Asking<Uint32Array | undefined> {
    const cached = this.#tables.get(index);
    if (cached !== undefined) return cached;
    const { first, entries } = yield* this.directory.pageOf(index);
    const sector = entries[index - first] ?? 0;
    if (sector === 0) return undefined;
    let count = 1;
    const stride = this.#tableLength / SECTOR;
    while (count < READ_AHEAD_TABLES && entries[index - first + count] === sector + count * stride) count++;
    const tables = yield* this.read(sector, count);
    tables.forEach((table, i) => this.#keep(index + i, table));
    return tables[0];
  }

  /**
   * `count` tables that follow each other from `sector` on.
   * @throws FormatError FORMAT_CORRUPT if the first leaves the file; of the others those that do are left out
   */
  *read(sector: number, count: number): Asking<Uint32Array[]> {
    const offset = sector * SECTOR;
    const whole = Math.floor(((this.#hostSize ?? Infinity) - offset) / this.#tableLength);
    if (whole < 1) {
      throw new FormatError("FORMAT_CORRUPT", `the VMDK grain table at sector ${sector} lies outside the file`, {
        remedy: "The file is cut short or damaged: fetch it again.",
        context: { format: "vmdk", sector },
      });
    }
    const bytes = yield* ask({ offset, length: Math.min(whole, count) * this.#tableLength });
    const tables: Uint32Array[] = [];
    for (let at = 0; at < bytes.length; at += this.#tableLength) {
      tables.push(decodeEntries(bytes.subarray(at, at + this.#header.entriesPerTable * 4), true));
    }
    return tables;
  }

  #keep(index: number, table: Uint32Array): void {
    while (this.#tables.size >= CACHED_TABLES) {
      const oldest = this.#tables.keys().next();
      if (oldest.done === true) break;
      this.#tables.delete(oldest.value);
    }
    this.#tables.set(index, table);
  }
}
