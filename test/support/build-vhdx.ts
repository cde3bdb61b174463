/**
 * Builds VHDX files by the layouts of [MS-VHDX], so that any field can be set wrong on purpose.
 *
 * The layout is qemu's: headers and region tables, log at 1 MiB, BAT at 2 MiB, metadata at 3 MiB, payload from 4 MiB on. A
 * test changes what it likes and then calls `sealVhdx`, which makes the checksums right again.
 */

const KIB = 1024;
const MIB = 1024 * KIB;

export const HEADER_1 = 64 * KIB;
export const HEADER_2 = 128 * KIB;
export const REGION_TABLE_1 = 192 * KIB;
export const REGION_TABLE_2 = 256 * KIB;
export const LOG = MIB;
const LOG_LENGTH = MIB;
export const BAT = 2 * MIB;
export const METADATA = 3 * MIB;
/** The file parameters are the first item. */
export const METADATA_ITEMS = METADATA + 64 * KIB;
export const PAYLOAD = 4 * MIB;

/** Positions of items that tests change. */
export const VIRTUAL_DISK_SIZE = METADATA_ITEMS + 8;
export const LOGICAL_SECTOR_SIZE = METADATA_ITEMS + 32;

const BLOCK_ZERO = 2;
const BLOCK_FULLY_PRESENT = 6;

export interface ExtraEntry {
  readonly guid: string;
  readonly required: boolean;
  /** Default: somewhere that is free. */
  readonly offset?: number;
  readonly length?: number;
}

export interface VhdxPlan {
  /** The disk; blocks of zeros are BLOCK_ZERO, the others BLOCK_FULLY_PRESENT. */
  readonly disk: Uint8Array;
  readonly blockSize?: number;
  readonly logicalSectorSize?: number;
  readonly hasParent?: boolean;
  /** Overrides the state of a block; payload is written for it only if it is BLOCK_FULLY_PRESENT. */
  readonly stateOf?: (block: number) => number | undefined;
  /** The order in which blocks with data lie in the file; default ascending. */
  readonly reversed?: boolean;
  readonly extraRegions?: readonly ExtraEntry[];
  readonly extraItems?: readonly ExtraEntry[];
}

/** A VHDX file that holds `plan.disk`. */
export function buildVhdx(plan: VhdxPlan): Buffer {
  const blockSize = plan.blockSize ?? MIB;
  const sectorSize = plan.logicalSectorSize ?? 512;
  const blockCount = Math.ceil(plan.disk.length / blockSize);
  const blocks = Array.from({ length: blockCount }, (_, block) => block);
  const contentOf = (block: number): Uint8Array => plan.disk.subarray(block * blockSize, (block + 1) * blockSize);
  const stateOf = (block: number): number =>
    plan.stateOf?.(block) ?? (contentOf(block).some((b) => b !== 0) ? BLOCK_FULLY_PRESENT : BLOCK_ZERO);
  const present = blocks.filter((block) => stateOf(block) === BLOCK_FULLY_PRESENT);
  if (plan.reversed === true) present.reverse();

  // Nothing is stored of the last block behind the disk's last MiB.
  const lastPlace = present.length - 1;
  const unused = present[lastPlace] === blockCount - 1 ? blockCount * blockSize - plan.disk.length : 0;
  const file = Buffer.alloc(PAYLOAD + present.length * blockSize - Math.floor(unused / MIB) * MIB);
  file.write("vhdxfile", 0, "latin1");
  file.write("a test", 8, "utf16le");
  writeHeader(file, HEADER_1, 1n);
  writeHeader(file, HEADER_2, 2n);
  writeRegionTable(file, REGION_TABLE_1, plan.extraRegions ?? []);
  writeRegionTable(file, REGION_TABLE_2, plan.extraRegions ?? []);
  writeMetadata(file, plan, blockSize, sectorSize);
  for (const block of blocks) {
    const place = present.indexOf(block);
    const offset = place < 0 ? 0 : PAYLOAD + place * blockSize;
    if (place >= 0) file.set(contentOf(block), offset);
    file.writeBigUInt64LE(BigInt(offset) | BigInt(stateOf(block)), batEntry(block, blockSize, sectorSize));
  }
  sealVhdx(file);
  return file;
}

/** Host offset of a block's BAT entry. */
export function batEntry(block: number, blockSize = MIB, sectorSize = 512): number {
  const chunkRatio = (2 ** 23 * sectorSize) / blockSize;
  return BAT + 8 * (block + Math.floor(block / chunkRatio));
}

/** Makes the checksums of the headers and region tables right again. */
export function sealVhdx(file: Buffer): void {
  for (const offset of [HEADER_1, HEADER_2]) seal(file.subarray(offset, offset + 4 * KIB));
  for (const offset of [REGION_TABLE_1, REGION_TABLE_2]) seal(file.subarray(offset, offset + 64 * KIB));
}

function seal(structure: Buffer): void {
  structure.writeUInt32LE(0, 4);
  structure.writeUInt32LE(slowCrc32c(structure), 4);
}

function writeHeader(file: Buffer, at: number, sequenceNumber: bigint): void {
  file.write("head", at, "latin1");
  file.writeBigUInt64LE(sequenceNumber, at + 8);
  file.writeUInt16LE(0, at + 64); // log version
  file.writeUInt16LE(1, at + 66);
  file.writeUInt32LE(LOG_LENGTH, at + 68);
  file.writeBigUInt64LE(BigInt(LOG), at + 72);
}

function writeRegionTable(file: Buffer, at: number, extra: readonly ExtraEntry[]): void {
  const entries: ExtraEntry[] = [
    { guid: "2DC27766-F623-4200-9D64-115E9BFD4A08", required: true, offset: BAT, length: MIB },
    { guid: "8B7CA206-4790-4B9A-B8FE-575F050F886E", required: true, offset: METADATA, length: MIB },
    ...extra,
  ];
  file.write("regi", at, "latin1");
  file.writeUInt32LE(entries.length, at + 8);
  for (const [i, entry] of entries.entries()) {
    const place = at + 16 + 32 * i;
    guidBytes(entry.guid).copy(file, place);
    file.writeBigUInt64LE(BigInt(entry.offset ?? PAYLOAD), place + 16);
    file.writeUInt32LE(entry.length ?? 0, place + 24);
    file.writeUInt32LE(entry.required ? 1 : 0, place + 28);
  }
}

function writeMetadata(file: Buffer, plan: VhdxPlan, blockSize: number, sectorSize: number): void {
  const sizes = Buffer.alloc(40);
  sizes.writeUInt32LE(blockSize, 0);
  sizes.writeUInt32LE(plan.hasParent === true ? 2 : 0, 4);
  sizes.writeBigUInt64LE(BigInt(plan.disk.length), 8);
  guidBytes("01234567-89AB-CDEF-0123-456789ABCDEF").copy(sizes, 16);
  sizes.writeUInt32LE(sectorSize, 32);
  sizes.writeUInt32LE(4096, 36);
  sizes.copy(file, METADATA_ITEMS);
  const items = [
    { guid: "CAA16737-FA36-4D43-B3B6-33F0AA44E76B", offset: 0, length: 8, flags: 4 },
    { guid: "2FA54224-CD1B-4876-B211-5DBED83BF4B8", offset: 8, length: 8, flags: 6 },
    { guid: "BECA12AB-B2E6-4523-93EF-C309E000C746", offset: 16, length: 16, flags: 6 },
    { guid: "8141BF1D-A96F-4709-BA47-F233A8FAAB5F", offset: 32, length: 4, flags: 6 },
    { guid: "CDA348C7-445D-4471-9CC9-E9885251C556", offset: 36, length: 4, flags: 6 },
    ...(plan.extraItems ?? []).map((item) => ({
      guid: item.guid,
      offset: item.offset ?? 64,
      length: item.length ?? 8,
      flags: item.required ? 4 : 0,
    })),
  ];
  file.write("metadata", METADATA, "latin1");
  file.writeUInt16LE(items.length, METADATA + 10);
  for (const [i, item] of items.entries()) {
    const place = METADATA + 32 + 32 * i;
    guidBytes(item.guid).copy(file, place);
    file.writeUInt32LE(64 * KIB + item.offset, place + 16);
    file.writeUInt32LE(item.length, place + 20);
    file.writeUInt32LE(item.flags, place + 24);
  }
}

export const LOG_GUID = "00112233-4455-6677-8899-AABBCCDDEEFF";

/** What one descriptor does: 4 KiB of bytes, or a length of zeros. */
export type LogChange = { readonly offset: number } & ({ readonly bytes: Uint8Array } | { readonly zeros: number });

export interface LogEntryPlan {
  /** Position in the log; the ring is closed, so that an entry may go over its end. */
  readonly position: number;
  readonly sequenceNumber: bigint;
  /** Default: `position`. */
  readonly tail?: number;
  /** Default: LOG_GUID. */
  readonly guid?: string;
  readonly changes: readonly LogChange[];
  /** Both default to the file's length. */
  readonly flushedFileOffset?: number;
  readonly lastFileOffset?: number;
}

/** Writes entries into the log and makes the headers name it. Returns the position after the last entry. */
export function writeLog(file: Buffer, entries: readonly LogEntryPlan[]): number {
  const logLength = file.readUInt32LE(HEADER_2 + 68);
  let end = 0;
  for (const plan of entries) {
    const bytes = logEntry(plan, file.length);
    for (let at = 0; at < bytes.length; at += 4096) {
      bytes.copy(file, LOG + ((plan.position + at) % logLength), at, at + 4096);
    }
    end = (plan.position + bytes.length) % logLength;
  }
  for (const header of [HEADER_1, HEADER_2]) guidBytes(LOG_GUID).copy(file, header + 48);
  sealVhdx(file);
  return end;
}

/** The bytes of one log entry. */
export function logEntry(plan: LogEntryPlan, fileLength: number): Buffer {
  const dataCount = plan.changes.filter((change) => "bytes" in change).length;
  const descriptorBytes = Math.ceil((64 + 32 * plan.changes.length) / 4096) * 4096;
  const entry = Buffer.alloc(descriptorBytes + 4096 * dataCount);
  entry.write("loge", 0, "latin1");
  entry.writeUInt32LE(entry.length, 8);
  entry.writeUInt32LE(plan.tail ?? plan.position, 12);
  entry.writeBigUInt64LE(plan.sequenceNumber, 16);
  entry.writeUInt32LE(plan.changes.length, 24);
  guidBytes(plan.guid ?? LOG_GUID).copy(entry, 32);
  entry.writeBigUInt64LE(BigInt(plan.flushedFileOffset ?? fileLength), 48);
  entry.writeBigUInt64LE(BigInt(plan.lastFileOffset ?? fileLength), 56);
  let data = descriptorBytes;
  for (const [i, change] of plan.changes.entries()) {
    const at = 64 + 32 * i;
    if ("bytes" in change) {
      const bytes = Buffer.from(change.bytes);
      entry.write("desc", at, "latin1");
      bytes.copy(entry, at + 4, 4092, 4096);
      bytes.copy(entry, at + 8, 0, 8);
      bytes.copy(entry, data, 0, 4096);
      entry.write("data", data, "latin1");
      entry.writeUInt32LE(Number(plan.sequenceNumber >> 32n), data + 4);
      entry.writeUInt32LE(Number(plan.sequenceNumber & 0xffff_ffffn), data + 4092);
      data += 4096;
    } else {
      entry.write("zero", at, "latin1");
      entry.writeBigUInt64LE(BigInt(change.zeros), at + 8);
    }
    entry.writeBigUInt64LE(BigInt(change.offset), at + 16);
    entry.writeBigUInt64LE(plan.sequenceNumber, at + 24);
  }
  entry.writeUInt32LE(slowCrc32c(entry), 4);
  return entry;
}

/** A GUID's binary form. */
export function guidBytes(text: string): Buffer {
  const [a = "", b = "", c = "", d = "", e = ""] = text.split("-");
  const reversed = [a, b, c].map((field) => Buffer.from(field, "hex").reverse());
  return Buffer.concat([...reversed, Buffer.from(d + e, "hex")]);
}

/** CRC-32C, a byte at a time: not the parser's. */
export function slowCrc32c(bytes: Uint8Array): number {
  const table = new Uint32Array(256).map((_, byte) => {
    for (let bit = 0; bit < 8; bit++) byte = byte & 1 ? (byte >>> 1) ^ 0x82f6_3b78 : byte >>> 1;
    return byte;
  });
  let crc = 0xffff_ffff;
  for (const byte of bytes) crc = (crc >>> 8) ^ (table[(crc ^ byte) & 0xff] ?? 0);
  return ~crc >>> 0;
}
