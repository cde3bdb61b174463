/**
 * Writes VMDK extents that qemu-img cannot: any header, tables anywhere, and stream-optimized files as VMware writes
 * them, with a marker before each table and the directory's place in a footer.
 *
 * Offsets are those of VMware's "Virtual Disk Format 5.0"; numbers are little-endian, offsets in sectors of 512 bytes.
 */
import zlib from "node:zlib";

const SECTOR = 512;

export interface HeaderFields {
  readonly version?: number;
  readonly flags?: number;
  readonly capacity: number;
  readonly grainSize?: number;
  readonly descriptorOffset?: number;
  readonly descriptorSize?: number;
  readonly entriesPerTable?: number;
  readonly redundantDirectory?: number;
  /** "at end": all ones. */
  readonly directory: number | "at end";
  readonly overhead?: number;
  readonly unclean?: boolean;
  readonly compression?: number;
}

export function buildHeader(fields: HeaderFields): Buffer {
  const header = Buffer.alloc(SECTOR);
  const u64 = (value: number, at: number): void => void header.writeBigUInt64LE(BigInt(value), at);
  header.write("KDMV", 0, "latin1");
  header.writeUInt32LE(fields.version ?? 1, 4);
  header.writeUInt32LE(fields.flags ?? 1, 8);
  u64(fields.capacity, 12);
  u64(fields.grainSize ?? 128, 20);
  u64(fields.descriptorOffset ?? 1, 28);
  u64(fields.descriptorSize ?? 2, 36);
  header.writeUInt32LE(fields.entriesPerTable ?? 512, 44);
  u64(fields.redundantDirectory ?? 0, 48);
  if (fields.directory === "at end") header.fill(0xff, 56, 64);
  else u64(fields.directory, 56);
  u64(fields.overhead ?? 8, 64);
  header.writeUInt8(fields.unclean === true ? 1 : 0, 72);
  header.write("\n \r\n", 73, "latin1");
  header.writeUInt16LE(fields.compression ?? 0, 77);
  return header;
}

/** @param lines more lines, or other values for keys of it */
export function buildDescriptor(
  capacity: number,
  createType = "monolithicSparse",
  lines: readonly string[] = [],
): string {
  const given = new Set(lines.map((line) => line.split("=")[0]));
  const usual = ["version=1", "CID=123a45bc", "parentCID=ffffffff", `createType="${createType}"`];
  const kept = usual.filter((line) => !given.has(line.split("=")[0]));
  const extents = lines.some((line) => line.startsWith("RW ")) ? [] : [`RW ${capacity} SPARSE "disk.vmdk"`];
  return ["# Disk DescriptorFile", ...kept, ...extents, ...lines, ""].join("\n");
}

/** 32-bit entries as they are in the file. */
export function entries(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  values.forEach((value, i) => bytes.writeUInt32LE(value, i * 4));
  return bytes;
}

/** A file with the header at its start and each piece at its sector. */
export function buildExtent(
  fields: HeaderFields,
  descriptor: string,
  pieces: readonly (readonly [number, Buffer])[],
): Buffer {
  const all: (readonly [number, Buffer])[] = [
    [0, buildHeader(fields)],
    [1, Buffer.from(descriptor, "latin1")],
    ...pieces,
  ];
  const end = Math.max(...all.map(([sector, bytes]) => sector * SECTOR + bytes.length));
  const file = Buffer.alloc(Math.ceil(end / SECTOR) * SECTOR);
  for (const [sector, bytes] of all) bytes.copy(file, sector * SECTOR);
  return file;
}

export interface StreamOptions {
  /** Where the directory is said to be: `footer` (VMware), or `header` (a writer that goes back and patches it). */
  readonly directory?: "footer" | "header";
  /** In sectors. */
  readonly grainSize?: number;
  readonly entriesPerTable?: number;
  readonly endOfStream?: boolean;
  /** Zero bytes behind everything. */
  readonly padding?: number;
  /** The grains of each table last to first. */
  readonly reversed?: boolean;
}

/** `disk` as a stream-optimized extent: grains, each table behind its grains, directory, footer, end-of-stream. */
export function buildStreamOptimized(disk: Buffer, options: StreamOptions = {}): Buffer {
  const { directory = "footer", grainSize = 128, entriesPerTable = 512, endOfStream = true, padding = 0 } = options;
  const grainBytes = grainSize * SECTOR;
  const grains = Math.ceil(disk.length / grainBytes);
  const parts: Buffer[] = [];
  let sector = 8; // overhead
  const put = (bytes: Buffer): number => {
    const at = sector;
    const padded = Buffer.alloc(Math.ceil(bytes.length / SECTOR) * SECTOR);
    bytes.copy(padded);
    parts.push(padded);
    sector += padded.length / SECTOR;
    return at;
  };
  const directoryEntries: number[] = [];
  for (let first = 0; first < grains; first += entriesPerTable) {
    const table = Array.from({ length: entriesPerTable }, () => 0);
    const indexes = [...table.keys()].filter((slot) => first + slot < grains);
    for (const slot of options.reversed === true ? indexes.toReversed() : indexes) {
      const at = (first + slot) * grainBytes;
      const grain = disk.subarray(at, at + grainBytes);
      if (grain.some((byte) => byte !== 0)) table[slot] = put(grainMarker((first + slot) * grainSize, grain));
    }
    if (table.every((entry) => entry === 0)) {
      directoryEntries.push(0);
      continue;
    }
    put(metadataMarker(1, Math.ceil((entriesPerTable * 4) / SECTOR)));
    directoryEntries.push(put(entries(...table)));
  }
  put(metadataMarker(2, Math.ceil((directoryEntries.length * 4) / SECTOR)));
  const directoryAt = put(entries(...directoryEntries));
  const fields: HeaderFields = {
    version: 3,
    flags: 0x30001,
    capacity: disk.length / SECTOR,
    grainSize,
    entriesPerTable,
    directory: directoryAt,
    compression: 1,
  };
  if (directory === "footer") {
    put(metadataMarker(3, 1));
    put(buildHeader(fields));
  }
  if (endOfStream) put(metadataMarker(0, 0));
  const head = { ...fields, directory: directory === "footer" ? ("at end" as const) : directoryAt };
  const descriptor = buildDescriptor(fields.capacity, "streamOptimized");
  return buildExtent(head, descriptor, [[8, Buffer.concat([...parts, Buffer.alloc(padding)])]]);
}

function grainMarker(sector: number, grain: Buffer): Buffer {
  const data = zlib.deflateSync(grain);
  const marker = Buffer.alloc(12);
  marker.writeBigUInt64LE(BigInt(sector), 0);
  marker.writeUInt32LE(data.length, 8);
  return Buffer.concat([marker, data]);
}

/** @param sectors of metadata that follow */
function metadataMarker(type: number, sectors: number): Buffer {
  const marker = Buffer.alloc(SECTOR);
  marker.writeBigUInt64LE(BigInt(sectors), 0);
  marker.writeUInt32LE(type, 12);
  return marker;
}
