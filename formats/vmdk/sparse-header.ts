/**
 * The header of a sparse extent, at the start of the file, and once more in the footer of a streamed one.
 *
 * VMware "Virtual Disk Format 5.0", "Hosted Sparse Extents" and "Stream-Optimized Compressed Sparse Extents". All fields
 * are little-endian and packed; offsets and sizes are in sectors of 512 bytes, and in bytes once they are decoded.
 */
import { alignUp, hasMagic, hex, isPowerOfTwo, MIB, u64le, viewOf } from "../bytes.ts";
import { FormatError } from "../errors.ts";

export const SECTOR = 512;
export const SPARSE_HEADER_LENGTH = 512;
export const SPARSE_MAGIC = "KDMV";

const FLAG_NEWLINE_TEST = 1 << 0;
const FLAG_ZEROED_GRAINS = 1 << 2;
const FLAG_COMPRESSED = 1 << 16;
const FLAG_MARKERS = 1 << 17;
const COMPRESS_DEFLATE = 1;
const NEWLINES_AT = 73;
const NEWLINES = "\n \r\n";

const MAX_VERSION = 3;
const MAX_PLAIN_GRAIN = 1024 * MIB; // qemu's limit; 64 KiB is what everybody writes
const MAX_COMPRESSED_GRAIN = 2 * MIB; // decoded in memory
const MAX_ENTRIES_PER_TABLE = 512; // qemu's limit, and the value of the specification
const MAX_DIRECTORY_ENTRIES = 2 ** 21; // 64 TiB of usual grains; VMware's largest disk has 62
const MAX_OFFSET = 2 ** 52;

export interface SparseHeader {
  readonly version: number;
  /** Bytes of the disk. */
  readonly virtualSize: number;
  readonly grainSize: number;
  /** Host range of the embedded descriptor; both 0 without one. */
  readonly descriptorOffset: number;
  readonly descriptorLength: number;
  readonly entriesPerTable: number;
  /** How many grain tables the disk needs. */
  readonly directoryEntries: number;
  /** Host offset of the grain directory; undefined: only the footer says. The redundant one is never read. */
  readonly directoryOffset: number | undefined;
  /** Bytes before the first grain. */
  readonly overhead: number;
  readonly uncleanShutdown: boolean;
  /** Grains are zlib data. */
  readonly compressed: boolean;
  /** Grains and tables have a marker before them. */
  readonly markers: boolean;
  /** A grain table entry of 1 is a grain of zeros. */
  readonly zeroedGrains: boolean;
}

/**
 * @param bytes SPARSE_HEADER_LENGTH bytes that begin with SPARSE_MAGIC
 * @throws FormatError FORMAT_INVALID, FORMAT_UNSUPPORTED (version, compression), FORMAT_OUT_OF_BOUNDS
 */
export function decodeSparseHeader(bytes: Uint8Array): SparseHeader {
  const view = viewOf(bytes);
  const flags = view.getUint32(8, true);
  // First, because every field behind a changed line end has moved.
  if ((flags & FLAG_NEWLINE_TEST) !== 0 && !hasMagic(bytes, NEWLINES, NEWLINES_AT)) {
    throw new FormatError("FORMAT_INVALID", "the VMDK's line ends were changed: it was transferred in text mode", {
      remedy: "Transfer it again in binary mode.",
    });
  }
  const version = view.getUint32(4, true);
  if (version < 1 || version > MAX_VERSION) {
    throw new FormatError("FORMAT_UNSUPPORTED", `VMDK version ${version} is not read, only 1 to ${MAX_VERSION}`);
  }
  const compressed = isCompressed(view.getUint16(77, true), (flags & FLAG_COMPRESSED) !== 0);
  const virtualSize = bytesOf(view, 12, "capacity");
  const grainSize = bytesOf(view, 20, "grain size");
  const entriesPerTable = view.getUint32(44, true);
  checkGeometry(grainSize, entriesPerTable, compressed);
  const directoryEntries = Math.ceil(virtualSize / (grainSize * entriesPerTable));
  if (directoryEntries > MAX_DIRECTORY_ENTRIES) {
    throw new FormatError(
      "FORMAT_OUT_OF_BOUNDS",
      `the VMDK's grain directory has ${directoryEntries} entries, above the limit of ${MAX_DIRECTORY_ENTRIES}`,
    );
  }
  const header = {
    version,
    virtualSize,
    grainSize,
    descriptorOffset: bytesOf(view, 28, "descriptor offset"),
    descriptorLength: bytesOf(view, 36, "descriptor size"),
    entriesPerTable,
    directoryEntries,
    directoryOffset: directoryOffset(view),
    overhead: bytesOf(view, 64, "overhead"),
    uncleanShutdown: view.getUint8(72) !== 0,
    compressed,
    markers: (flags & FLAG_MARKERS) !== 0,
    zeroedGrains: (flags & FLAG_ZEROED_GRAINS) !== 0,
  };
  if (header.directoryOffset === undefined && !(compressed && header.markers)) {
    throw new FormatError(
      "FORMAT_INVALID",
      "the VMDK's grain directory is said to be at its end, but it has no markers",
    );
  }
  return header;
}

/** Bytes of a grain table in the file, in whole sectors. */
export function grainTableLength(header: SparseHeader): number {
  return alignUp(header.entriesPerTable * 4, SECTOR);
}

/** The most bytes that a grain takes in the file; as much as qemu reads for one. */
export function longestStoredGrain(header: SparseHeader): number {
  return header.compressed ? header.grainSize * 2 + SECTOR : header.grainSize;
}

/** As qemu: the algorithm decides. */
function isCompressed(algorithm: number, flag: boolean): boolean {
  if (algorithm > COMPRESS_DEFLATE) {
    throw new FormatError("FORMAT_UNSUPPORTED", `VMDK compression algorithm ${algorithm} is not known`);
  }
  if (flag && algorithm !== COMPRESS_DEFLATE) {
    throw new FormatError("FORMAT_INVALID", "the VMDK's grains are said to be compressed, but with no algorithm");
  }
  return algorithm === COMPRESS_DEFLATE;
}

function checkGeometry(grainSize: number, entriesPerTable: number, compressed: boolean): void {
  const most = compressed ? MAX_COMPRESSED_GRAIN : MAX_PLAIN_GRAIN;
  if (!isPowerOfTwo(grainSize) || grainSize > most) {
    throw new FormatError(
      "FORMAT_OUT_OF_BOUNDS",
      `VMDK grain size ${grainSize} is not a power of two from ${SECTOR} to ${most}`,
    );
  }
  if (entriesPerTable < 1 || entriesPerTable > MAX_ENTRIES_PER_TABLE) {
    throw new FormatError(
      "FORMAT_OUT_OF_BOUNDS",
      `the VMDK has ${entriesPerTable} entries per grain table, not 1 to ${MAX_ENTRIES_PER_TABLE}`,
    );
  }
}

function directoryOffset(view: DataView): number | undefined {
  const all = 0xffff_ffff; // both halves: "at the end"
  if (view.getUint32(56, true) === all && view.getUint32(60, true) === all) return undefined;
  const offset = bytesOf(view, 56, "grain directory offset");
  if (offset < SPARSE_HEADER_LENGTH) {
    throw new FormatError("FORMAT_INVALID", `the VMDK's grain directory cannot be at ${hex(offset)}`);
  }
  return offset;
}

/** A 64-bit count of sectors, in bytes. */
function bytesOf(view: DataView, at: number, field: string): number {
  const sectors = u64le(view, at, `VMDK ${field}`);
  if (sectors > MAX_OFFSET / SECTOR) {
    throw new FormatError(
      "FORMAT_OUT_OF_BOUNDS",
      `VMDK ${field} is ${sectors} sectors, above the limit of ${MAX_OFFSET / SECTOR}`,
    );
  }
  return sectors * SECTOR;
}
