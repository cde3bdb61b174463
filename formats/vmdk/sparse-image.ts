/**
 * An open sparse extent that is a whole disk: grains through their tables, or in the order of their markers.
 */
import { hex } from "../bytes.ts";
import type { DiskImage, Extent, Need, Parsing, Warning } from "../disk-format.ts";
import { FormatError } from "../errors.ts";
import { ExtentList, plainExtent } from "../extent-list.ts";
import { announce, HostRuns, MAX_RUNS } from "../host-runs.ts";
import { sizeText } from "../size-text.ts";
import type { GrainTables } from "./grain-tables.ts";
import { GRAIN_MARKER_LENGTH, grainExtent, walkMarkers } from "./markers.ts";
import { grainTableLength, longestStoredGrain, SECTOR } from "./sparse-header.ts";
import type { SparseHeader } from "./sparse-header.ts";

const GRAIN_FREE = 0;
const GRAIN_ZERO = 1; // with the zeroed-grain flag only

type Scan<T> = Generator<Need | readonly Extent[], T, Uint8Array | undefined>;

export class SparseImage implements DiskImage {
  readonly format = "vmdk";
  readonly virtualSize: number;
  readonly features: readonly string[];
  readonly warnings: readonly Warning[];
  readonly #header: SparseHeader;
  readonly #tables: GrainTables | undefined;
  readonly #hostSize: number | undefined;

  /** @param tables undefined in a stream whose directory is at its end */
  constructor(header: SparseHeader, tables: GrainTables | undefined, hostSize: number | undefined) {
    this.virtualSize = header.virtualSize;
    this.features = featuresOf(header);
    this.warnings = header.uncleanShutdown
      ? [{ code: "VMDK_UNCLEAN", message: "the VMDK was not closed cleanly when it was last written" }]
      : [];
    this.#header = header;
    this.#tables = tables;
    this.#hostSize = hostSize;
  }

  *extents(offset: number, length: number): Parsing<readonly Extent[]> {
    const { entriesPerTable, grainSize } = this.#header;
    if (this.#tables === undefined) {
      throw new FormatError(
        "FORMAT_UNSUPPORTED",
        "the VMDK's grain directory is at its end, which a stream has not reached",
      );
    }
    const list = new ExtentList();
    let at = offset;
    while (at < offset + length && list.hasRoom()) {
      const grain = Math.floor(at / grainSize);
      const index = Math.floor(grain / entriesPerTable);
      const table = yield* this.#tables.table(index);
      const last = Math.min(offset + length, (index + 1) * entriesPerTable * grainSize);
      if (table === undefined) {
        list.add("hole", at, last - at);
        at = last;
        continue;
      }
      at = this.#addGrains(list, table, index * entriesPerTable, at, last);
    }
    return list.finish();
  }

  /** Adds the grains of one table from `at` to `end`; returns how far it came. */
  #addGrains(list: ExtentList, table: Uint32Array, firstGrain: number, at: number, end: number): number {
    const { grainSize, compressed, zeroedGrains } = this.#header;
    while (at < end && list.hasRoom()) {
      const inGrain = at % grainSize;
      const part = Math.min(grainSize - inGrain, end - at);
      const slot = (at - inGrain) / grainSize - firstGrain;
      const sector = table[slot] ?? GRAIN_FREE;
      if (sector === GRAIN_FREE) list.add("hole", at, part);
      else if (sector === GRAIN_ZERO && zeroedGrains) list.add("zero", at, part);
      else if (compressed) this.#addCompressed(list, table, slot, at, part);
      else list.add("data", at, part, this.#plainOffset(sector, inGrain, part));
      at += part;
    }
    return at;
  }

  #addCompressed(list: ExtentList, table: Uint32Array, slot: number, at: number, part: number): void {
    const sector = table[slot] ?? GRAIN_FREE;
    // Grains come in order from every writer, so the next one bounds this one, and a driver reads no byte twice.
    let behind = slot + 1;
    while (behind < table.length && (table[behind] ?? GRAIN_FREE) <= GRAIN_ZERO) behind++;
    const next = table[behind] ?? GRAIN_FREE;
    const skip = at % this.#header.grainSize;
    const grain = this.#compressedGrain(at - skip, sector, next > sector ? (next - sector) * SECTOR : Infinity);
    if (grain.kind !== "data" || grain.stored.encoding === "plain" || grain.stored.encoding === "inline") return;
    list.addEncoded(at, part, { ...grain.stored, skip });
  }

  *scan(): Scan<{ readonly virtualSize: number }> {
    const tables = this.#tables;
    const runs = tables === undefined ? undefined : yield* this.#tablesInHostOrder(tables);
    if (tables === undefined || runs === undefined) yield* walkMarkers(this.#header, undefined);
    else yield* this.#scanTables(tables, runs);
    return { virtualSize: this.virtualSize };
  }

  /** The grain tables of the directory; undefined if markers lead through the file better than they do. */
  *#tablesInHostOrder(tables: GrainTables): Scan<HostRuns | undefined> {
    const { directoryEntries, directoryOffset, markers, overhead } = this.#header;
    if (markers && (directoryOffset === undefined || directoryOffset >= overhead)) return undefined;
    const runs = new HostRuns(grainTableLength(this.#header) / SECTOR);
    for (let index = 0; index < directoryEntries;) {
      const { first, entries } = yield* tables.directory.pageOf(index);
      for (; index < first + entries.length; index++) {
        const sector = entries[index - first] ?? 0;
        if (markers && sector * SECTOR >= overhead) return undefined;
        if (sector !== 0) runs.add(index, sector);
      }
    }
    return runs;
  }

  /** Reads the tables as they come, then announces the grains by their place in the file. */
  *#scanTables(tables: GrainTables, tableRuns: HostRuns): Scan<void> {
    const { compressed, entriesPerTable, markers } = this.#header;
    const stride = grainTableLength(this.#header) / SECTOR;
    let grains = this.#newGrainRuns();
    let lowest = Infinity;
    let counted = 0;
    for (const { block, host, count } of tableRuns.inHostOrder()) {
      for (let i = 0; i < count; i++) {
        const sector = host + i * stride;
        // A table behind some of the data: what is known of it is announced before the pass goes on.
        if (lowest < sector) {
          yield* announce(this.#inHostOrder(grains));
          grains = this.#newGrainRuns();
          lowest = Infinity;
        }
        const [table] = yield* tables.read(sector, 1);
        const first = (block + i) * entriesPerTable;
        for (const [slot, grain] of this.#allocated(table ?? new Uint32Array(), first)) {
          counted++;
          if (compressed && markers && grains.size === MAX_RUNS) continue; // the markers will do
          grains.add(first + slot, grain);
          lowest = Math.min(lowest, grain);
        }
      }
    }
    if (compressed && markers && grains.size === MAX_RUNS) yield* walkMarkers(this.#header, counted);
    else yield* announce(this.#inHostOrder(grains));
  }

  /** A compressed grain's length is its own, so that no two of them are contiguous. */
  #newGrainRuns(): HostRuns {
    return new HostRuns(this.#header.compressed ? Infinity : this.#header.grainSize / SECTOR);
  }

  /** Slot and sector of each grain that a table stores and the disk has. */
  *#allocated(table: Uint32Array, firstGrain: number): Generator<[number, number], void, undefined> {
    const grainsLeft = Math.ceil(this.virtualSize / this.#header.grainSize) - firstGrain;
    const highestFree = this.#header.zeroedGrains ? GRAIN_ZERO : GRAIN_FREE;
    for (let slot = 0; slot < table.length && slot < grainsLeft; slot++) {
      const sector = table[slot] ?? GRAIN_FREE;
      if (sector > highestFree) yield [slot, sector];
    }
  }

  *#inHostOrder(grains: HostRuns): Generator<Extent, void, undefined> {
    const { compressed, grainSize } = this.#header;
    let previous: { readonly block: number; readonly host: number } | undefined;
    for (const run of grains.inHostOrder()) {
      if (compressed) {
        // The next grain bounds the one before it.
        if (previous !== undefined) yield this.#boundedGrain(previous, run.host);
        previous = run;
        continue;
      }
      const offset = run.block * grainSize;
      const length = Math.min(run.count * grainSize, this.virtualSize - offset);
      yield plainExtent(offset, length, this.#plainOffset(run.host, 0, length));
    }
    if (previous !== undefined) yield this.#boundedGrain(previous, previous.host);
  }

  /** @param nextSector of the next grain in the file; not above `host`: unknown */
  #boundedGrain({ block, host }: { readonly block: number; readonly host: number }, nextSector: number): Extent {
    const room = nextSector > host ? (nextSector - host) * SECTOR : Infinity;
    return this.#compressedGrain(block * this.#header.grainSize, host, room);
  }

  /** @param room bytes to the next grain */
  #compressedGrain(offset: number, sector: number, room: number): Extent {
    const hostOffset = sector * SECTOR;
    const toEnd = (this.#hostSize ?? Infinity) - hostOffset;
    if (toEnd <= GRAIN_MARKER_LENGTH) throw this.#outside(sector, hostOffset + GRAIN_MARKER_LENGTH);
    return grainExtent(this.#header, offset, hostOffset, Math.min(room, toEnd, longestStoredGrain(this.#header)));
  }

  /** Where `length` bytes from `inGrain` of the grain at `sector` lie in the file. */
  #plainOffset(sector: number, inGrain: number, length: number): number {
    const hostOffset = sector * SECTOR + inGrain;
    if (hostOffset + length > (this.#hostSize ?? Infinity)) throw this.#outside(sector, hostOffset + length);
    return hostOffset;
  }

  #outside(sector: number, end: number): FormatError {
    const size = hex(this.#hostSize ?? 0);
    return new FormatError(
      "FORMAT_CORRUPT",
      `the VMDK grain at sector ${sector} ends at ${hex(end)} or behind it, outside the file (${size})`,
      { remedy: "The file is cut short or damaged: fetch it again.", context: { format: "vmdk", sector } },
    );
  }
}

function featuresOf(header: SparseHeader): string[] {
  const features = [`version ${header.version}`, `grain size ${sizeText(header.grainSize)}`];
  if (header.compressed) features.push("compression deflate");
  if (header.markers) features.push("stream-optimized");
  if (header.directoryOffset === undefined) features.push("grain directory at the end");
  if (header.zeroedGrains) features.push("zeroed grains");
  return features;
}
