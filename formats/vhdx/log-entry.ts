/**
 * One entry of the log ([MS-VHDX] 2.3.1): descriptor sectors (a header, then descriptors), then data sectors.
 *
 * The log is a ring of 4 KiB sectors and an entry may wrap around its end, but no header, descriptor or data sector does.
 * An entry is valid if all of it is: signatures, GUID, checksum, alignment, and the sequence number that is repeated in
 * every descriptor and data sector.
 */
import { hasMagic, isAligned, u64le, viewOf } from "../bytes.ts";
import { crc32c } from "../crc32c.ts";
import { FormatError } from "../errors.ts";
import { crc32cOfStructure } from "./structure-checksum.ts";
import { sameGuid } from "./guid.ts";
import { LOG_SECTOR } from "./overlay.ts";

const ENTRY_HEADER_LENGTH = 64;
const DESCRIPTOR_LENGTH = 32;

// Stale entries that newer ones overwrote in part have their checksum computed in vain. Entries of one writer do not
// overlap at any one time, so that a few times the log's length is plenty, and a made-up log cannot ask for hours.
const MAX_CHECKSUMMED_LOGS = 8;

export interface LogEntry {
  /** Position in the log, and length; multiples of LOG_SECTOR. */
  readonly position: number;
  readonly length: number;
  /** Position in the log of the oldest entry that was not flushed yet when this one was written. */
  readonly tail: number;
  readonly sequenceNumber: bigint;
  readonly descriptorCount: number;
  /** The file was at least so long when the entry was written. */
  readonly flushedFileOffset: number;
  /** All structures fit into this length. */
  readonly lastFileOffset: number;
}

/** An update of the file: the descriptor, and for data where its sector lies. */
export interface LogUpdate {
  readonly kind: "zero" | "data";
  /** Host offset of the update. */
  readonly offset: number;
  readonly length: number;
  /** The sector's bytes, restored; only for data, and only when asked for. */
  readonly bytes: () => Uint8Array;
}

export class LogRing {
  /** Multiple of LOG_SECTOR. */
  readonly length: number;
  readonly #bytes: Uint8Array;
  readonly #guid: Uint8Array;
  readonly #entries = new Map<number, LogEntry | undefined>();
  #checksumBudget: number;

  /** @param bytes the log region; @param guid the header's LogGuid in binary form */
  constructor(bytes: Uint8Array, guid: Uint8Array) {
    this.#bytes = bytes;
    this.#guid = guid;
    this.length = bytes.length;
    this.#checksumBudget = MAX_CHECKSUMMED_LOGS * bytes.length;
  }

  /** The entry at `position`, or undefined if there is no valid one. Each position is examined once. */
  entryAt(position: number): LogEntry | undefined {
    if (this.#entries.has(position)) return this.#entries.get(position);
    const entry = this.#examine(position);
    this.#entries.set(position, entry);
    return entry;
  }

  /** The updates of a valid entry, in order. */
  updatesOf(entry: LogEntry): LogUpdate[] {
    const updates: LogUpdate[] = [];
    let dataPosition = entry.position + descriptorSectors(entry.descriptorCount) * LOG_SECTOR;
    for (let i = 0; i < entry.descriptorCount; i++) {
      const descriptor = this.#descriptor(entry.position, i);
      const view = viewOf(descriptor);
      const offset = u64le(view, 16, "FileOffset of a log descriptor");
      if (hasMagic(descriptor, "zero")) {
        updates.push({ kind: "zero", offset, length: u64le(view, 8, "ZeroLength"), bytes: () => new Uint8Array() });
        continue;
      }
      const sector = this.#sector(dataPosition);
      dataPosition += LOG_SECTOR;
      updates.push({ kind: "data", offset, length: LOG_SECTOR, bytes: () => restored(sector, descriptor) });
    }
    return updates;
  }

  #examine(position: number): LogEntry | undefined {
    const sector = this.#sector(position);
    const view = viewOf(sector);
    if (!hasMagic(sector, "loge") || !sameGuid(sector, 32, this.#guid, 0)) return undefined;
    const length = view.getUint32(8, true);
    const tail = view.getUint32(12, true);
    const sequenceNumber = view.getBigUint64(16, true);
    const descriptorCount = view.getUint32(24, true);
    if (length === 0 || length > this.length || !isAligned(length, LOG_SECTOR)) return undefined;
    if (tail >= this.length || !isAligned(tail, LOG_SECTOR) || sequenceNumber === 0n) return undefined;
    if (descriptorSectors(descriptorCount) * LOG_SECTOR > length) return undefined;
    if (this.#checksum(position, length) !== view.getUint32(4, true)) return undefined;
    if (!this.#descriptorsMatch(position, length, descriptorCount, sequenceNumber)) return undefined;
    const flushedFileOffset = u64le(view, 48, "FlushedFileOffset");
    const lastFileOffset = u64le(view, 56, "LastFileOffset");
    return { position, length, tail, sequenceNumber, descriptorCount, flushedFileOffset, lastFileOffset };
  }

  #checksum(position: number, length: number): number {
    this.#checksumBudget -= length;
    if (this.#checksumBudget < 0) {
      throw new FormatError(
        "FORMAT_OUT_OF_BOUNDS",
        `the entries of the log overlap: to check them takes more than ${MAX_CHECKSUMMED_LOGS} times the log's length`,
      );
    }
    const beforeWrap = Math.min(length, this.length - position);
    const crc = crc32cOfStructure(this.#bytes.subarray(position, position + beforeWrap));
    return crc32c(this.#bytes.subarray(0, length - beforeWrap), crc);
  }

  #descriptorsMatch(position: number, length: number, count: number, sequenceNumber: bigint): boolean {
    let used = descriptorSectors(count) * LOG_SECTOR;
    const low = Number(sequenceNumber & 0xffff_ffffn);
    const high = Number(sequenceNumber >> 32n);
    for (let i = 0; i < count; i++) {
      const descriptor = this.#descriptor(position, i);
      const view = viewOf(descriptor);
      if (view.getUint32(24, true) !== low || view.getUint32(28, true) !== high) return false;
      if (!isAligned(view.getUint32(16, true), LOG_SECTOR)) return false;
      if (hasMagic(descriptor, "zero")) {
        if (!isAligned(view.getUint32(8, true), LOG_SECTOR)) return false;
        continue;
      }
      if (!hasMagic(descriptor, "desc") || used + LOG_SECTOR > length) return false;
      const sector = this.#sector(position + used);
      const sectorView = viewOf(sector);
      if (!hasMagic(sector, "data") || sectorView.getUint32(4, true) !== high) return false;
      if (sectorView.getUint32(LOG_SECTOR - 4, true) !== low) return false;
      used += LOG_SECTOR;
    }
    return true;
  }

  #descriptor(position: number, index: number): Uint8Array {
    const at = ENTRY_HEADER_LENGTH + index * DESCRIPTOR_LENGTH;
    const start = (position + at) % this.length;
    return this.#bytes.subarray(start, start + DESCRIPTOR_LENGTH);
  }

  #sector(position: number): Uint8Array {
    const start = position % this.length;
    return this.#bytes.subarray(start, start + LOG_SECTOR);
  }
}

function descriptorSectors(count: number): number {
  return Math.ceil((ENTRY_HEADER_LENGTH + count * DESCRIPTOR_LENGTH) / LOG_SECTOR);
}

// The first eight and the last four bytes gave way to the signature and sequence number, and wait in the descriptor.
function restored(sector: Uint8Array, descriptor: Uint8Array): Uint8Array {
  const bytes = sector.slice();
  bytes.set(descriptor.subarray(8, 16), 0);
  bytes.set(descriptor.subarray(4, 8), LOG_SECTOR - 4);
  return bytes;
}
