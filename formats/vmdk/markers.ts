/**
 * Markers: what lies before each grain and table of a stream-optimized extent, so that it can be read as it passes.
 *
 * VMware "Virtual Disk Format 5.0", "Stream-Optimized Compressed Sparse Extents". A grain marker is the grain's sector on
 * the disk (64 bits) and the length of its data (32 bits, not 0), and the data follows at once. A metadata marker has a
 * length of 0, then a type, and fills a sector. The last marker is end-of-stream.
 */
import { ask } from "../ask.ts";
import type { Asking } from "../ask.ts";
import { alignUp, hasMagic, hex, isAligned, KIB, u64le, viewOf } from "../bytes.ts";
import type { Extent, Need } from "../disk-format.ts";
import { FormatError } from "../errors.ts";
import { decodeSparseHeader, longestStoredGrain, SECTOR, SPARSE_HEADER_LENGTH, SPARSE_MAGIC } from "./sparse-header.ts";
import type { SparseHeader } from "./sparse-header.ts";

export const GRAIN_MARKER_LENGTH = 12;

const MARKER_READ = 16; // a grain marker, and the type of a metadata marker
const TYPE_END_OF_STREAM = 0;
const TYPE_GRAIN_TABLE = 1;
const TYPE_GRAIN_DIRECTORY = 2;
const TYPE_FOOTER = 3;

const MAX_METADATA_SECTORS = 16 * KIB; // a directory of 8 MiB, the largest that is read
const SKIP_LENGTH = 64 * KIB;
const FOOTER_SEARCH = 64 * KIB; // some writers pad the file behind its end-of-stream marker

// A bit per grain, 32 MiB at most: repeated grains would make the disk depend on who writes last.
const MAX_TRACKED_GRAINS = 2 ** 28; // 16 TiB of usual grains; larger disks must come in ascending order

/**
 * Walks the markers in file order and announces each grain when its marker is read, so that nothing needs to be held.
 * @param expectedGrains how many grains the tables have that came before them; without tables in front the walk ends at
 *        an end-of-stream marker only
 * @throws FormatError FORMAT_CORRUPT, FORMAT_INVALID (cut short), FORMAT_OUT_OF_BOUNDS
 */
export function* walkMarkers(
  header: SparseHeader,
  expectedGrains: number | undefined,
): Generator<Need | readonly Extent[], void, Uint8Array | undefined> {
  const seen = new SeenGrains(header);
  let at = Math.max(header.overhead, SPARSE_HEADER_LENGTH, header.descriptorOffset + header.descriptorLength);
  for (;;) {
    const bytes = yield* ask({ offset: at, length: MARKER_READ, shortAtEnd: true, peek: true });
    if (bytes.length < MARKER_READ) {
      if (bytes.length === 0 && seen.count === expectedGrains) return;
      throw cutShort(at);
    }
    const view = viewOf(bytes);
    const value = u64le(view, 0, "VMDK marker");
    const size = view.getUint32(8, true);
    const type = view.getUint32(12, true);
    if (size > 0) {
      seen.add(value);
      yield [grainExtent(header, value * SECTOR, at, checkedLength(header, size, at))];
      at += alignUp(GRAIN_MARKER_LENGTH + size, SECTOR);
    } else if (type === TYPE_END_OF_STREAM) {
      if (expectedGrains !== undefined && seen.count !== expectedGrains) throw cutShort(at);
      return;
    } else {
      at = yield* passMetadata(header, type, value, at);
    }
  }
}

/**
 * Finds the footer at the end of the file, and in it where the grain directory is.
 * @throws FormatError FORMAT_INVALID if there is none, FORMAT_CORRUPT if it is another disk's
 */
export function* readFooter(header: SparseHeader, hostSize: number): Asking<number> {
  const length = Math.min(hostSize - (hostSize % SECTOR), FOOTER_SEARCH);
  const start = hostSize - (hostSize % SECTOR) - length;
  const bytes = length === 0 ? new Uint8Array() : yield* ask({ offset: start, length });
  for (let at = length - 2 * SECTOR; at >= 0; at -= SECTOR) {
    const view = viewOf(bytes.subarray(at, at + MARKER_READ));
    if (view.getUint32(8, true) !== 0 || view.getUint32(12, true) !== TYPE_FOOTER) continue;
    const footer = bytes.subarray(at + SECTOR, at + 2 * SECTOR);
    if (hasMagic(footer, SPARSE_MAGIC)) return decodeFooter(footer, header);
  }
  throw cutShort(hostSize);
}

/** Where the grain directory is, by the footer. */
function decodeFooter(bytes: Uint8Array, header: SparseHeader): number {
  if (!hasMagic(bytes, SPARSE_MAGIC)) {
    throw new FormatError("FORMAT_CORRUPT", `the VMDK's footer does not begin with ${SPARSE_MAGIC}`);
  }
  const footer = decodeSparseHeader(bytes);
  for (const field of ["virtualSize", "grainSize", "entriesPerTable", "compressed", "markers"] as const) {
    if (footer[field] === header[field]) continue;
    const values = `${String(footer[field])} and ${String(header[field])}`;
    throw new FormatError("FORMAT_CORRUPT", `the VMDK's footer and header differ: ${field} is ${values}`);
  }
  if (footer.directoryOffset === undefined) {
    throw new FormatError("FORMAT_CORRUPT", "the VMDK's footer does not say where the grain directory is");
  }
  return footer.directoryOffset;
}

/** A compressed grain whose marker is at `hostOffset`, or its data where there are no markers. */
export function grainExtent(header: SparseHeader, offset: number, hostOffset: number, length: number): Extent {
  return {
    kind: "data",
    offset,
    length: Math.min(header.grainSize, header.virtualSize - offset),
    stored: {
      encoding: header.markers ? "vmdk-grain" : "zlib",
      offset: hostOffset,
      length,
      decodedLength: header.grainSize,
      skip: 0,
    },
  };
}

/** Goes past a grain table, a directory or the footer; returns where the next marker is. */
function* passMetadata(header: SparseHeader, type: number, sectors: number, at: number): Asking<number> {
  if (type !== TYPE_GRAIN_TABLE && type !== TYPE_GRAIN_DIRECTORY && type !== TYPE_FOOTER) {
    throw new FormatError("FORMAT_CORRUPT", `the VMDK has a marker of unknown type ${type} at ${hex(at)}`);
  }
  if (sectors > MAX_METADATA_SECTORS) {
    throw new FormatError(
      "FORMAT_OUT_OF_BOUNDS",
      `the VMDK marker at ${hex(at)} has ${sectors} sectors of metadata, above the limit of ${MAX_METADATA_SECTORS}`,
    );
  }
  const start = at + SECTOR;
  if (type === TYPE_FOOTER) {
    yield* ask({ offset: at, length: SECTOR });
    decodeFooter(yield* ask({ offset: start, length: SPARSE_HEADER_LENGTH }), header);
    return start + Math.max(1, sectors) * SECTOR;
  }
  // Asked for rather than jumped over: a driver would keep what may still be announced.
  const end = start + sectors * SECTOR;
  for (let from = at; from < end; from += SKIP_LENGTH) {
    yield* ask({ offset: from, length: Math.min(SKIP_LENGTH, end - from) });
  }
  return end;
}

/** Bytes that the grain takes in the file, its marker and padding included. */
function checkedLength(header: SparseHeader, size: number, at: number): number {
  const length = alignUp(GRAIN_MARKER_LENGTH + size, SECTOR);
  if (length <= longestStoredGrain(header)) return length;
  throw new FormatError(
    "FORMAT_OUT_OF_BOUNDS",
    `the VMDK grain at ${hex(at)} has ${size} bytes of data, above the limit of ${longestStoredGrain(header)} per grain`,
  );
}

function cutShort(at: number): FormatError {
  return new FormatError(
    "FORMAT_INVALID",
    `the VMDK ends at ${hex(at)} without its last marker or some of its grains`,
    {
      remedy: "The file is cut short: fetch it again.",
    },
  );
}

/** The grains that came by. */
class SeenGrains {
  count = 0;
  readonly #header: SparseHeader;
  readonly #bits: Uint8Array | undefined;
  #highest = -1;

  constructor(header: SparseHeader) {
    const grains = Math.ceil(header.virtualSize / header.grainSize);
    this.#header = header;
    this.#bits = grains <= MAX_TRACKED_GRAINS ? new Uint8Array(Math.ceil(grains / 8)) : undefined;
  }

  /**
   * @param sector the grain's first sector on the disk, not yet checked
   * @throws FormatError FORMAT_CORRUPT if it cannot be one, or was there before
   */
  add(sector: number): void {
    const { grainSize, virtualSize } = this.#header;
    if (!isAligned(sector, grainSize / SECTOR) || sector >= virtualSize / SECTOR) {
      throw new FormatError(
        "FORMAT_CORRUPT",
        `a VMDK grain marker names sector ${sector}, where no grain of the disk is`,
      );
    }
    const grain = (sector * SECTOR) / grainSize;
    const byte = Math.floor(grain / 8);
    const bit = 1 << (grain % 8);
    const repeated = this.#bits === undefined ? grain <= this.#highest : ((this.#bits[byte] ?? 0) & bit) !== 0;
    if (repeated) {
      throw new FormatError("FORMAT_CORRUPT", `the VMDK stores the grain of sector ${sector} twice, or out of order`);
    }
    if (this.#bits !== undefined) this.#bits[byte] = (this.#bits[byte] ?? 0) | bit;
    this.#highest = Math.max(this.#highest, grain);
    this.count++;
  }
}
