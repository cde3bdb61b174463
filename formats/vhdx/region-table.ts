/**
 * The region table: where the BAT and the metadata region lie ([MS-VHDX] 2.2.3).
 *
 * There are two copies; the second is used if the first is damaged. All regions, known or not, and the log occupy host
 * ranges that nothing else may overlap, payload blocks included.
 */
import { hasMagic, hex, isAligned, KIB, MIB, u64le, viewOf } from "../bytes.ts";
import type { Warning } from "../disk-format.ts";
import { FormatError } from "../errors.ts";
import { crc32cOfStructure } from "./structure-checksum.ts";
import { guidAt } from "./guid.ts";
import { HEADER_SECTION_LENGTH } from "./header.ts";
import type { Header } from "./header.ts";

const TABLE_OFFSETS = [192 * KIB, 256 * KIB] as const;
const TABLE_LENGTH = 64 * KIB;
const TABLE_HEADER_LENGTH = 16;
const ENTRY_LENGTH = 32;
const MAX_REGIONS = 2047; // the specification's; as many as fit

const BAT_REGION = "2DC27766-F623-4200-9D64-115E9BFD4A08";
const METADATA_REGION = "8B7CA206-4790-4B9A-B8FE-575F050F886E";

const CUT_SHORT = "The file was cut short or is damaged; copy it again.";
const DAMAGED = "The file is damaged; take another copy of it.";

/** A host range, and what it is for messages. */
export interface Region {
  readonly name: string;
  readonly offset: number;
  readonly length: number;
}

export interface RegionTable {
  readonly bat: Region;
  readonly metadata: Region;
  /** Header section, log and every region, ascending by offset, disjoint. */
  readonly occupied: readonly Region[];
}

/**
 * Reads the first valid copy of the region table.
 * @param section the first HEADER_SECTION_USED bytes of the file, with the log replayed
 * @param hostSize length of the file with the log replayed; undefined if it is not known
 * @param warnings a damaged copy is added to it
 * @throws FormatError FORMAT_CORRUPT for damaged, overlapping or dangling regions, FORMAT_UNSUPPORTED for an unknown required one
 */
export function readRegionTable(
  section: Uint8Array,
  header: Header,
  hostSize: number | undefined,
  warnings: Warning[],
): RegionTable {
  const regions = parseEntries(validTable(section, warnings));
  const bat = only(regions, BAT_REGION, "BAT");
  const metadata = only(regions, METADATA_REGION, "metadata region");
  const log: Region = { name: "log", offset: header.logOffset, length: header.logLength };
  const first: Region = { name: "header section", offset: 0, length: HEADER_SECTION_LENGTH };
  const occupied = [first, log, ...regions].filter((r) => r.length > 0).sort((a, b) => a.offset - b.offset);
  for (const [i, region] of occupied.entries()) {
    const next = occupied[i + 1];
    const end = region.offset + region.length;
    if (next !== undefined && next.offset < end) {
      throw new FormatError(
        "FORMAT_CORRUPT",
        `the ${region.name} and the ${next.name} overlap at host offset ${hex(next.offset)}`,
        { remedy: DAMAGED },
      );
    }
    if (hostSize !== undefined && end > hostSize) {
      throw new FormatError(
        "FORMAT_CORRUPT",
        `the ${region.name} at host offset ${hex(region.offset)}, length ${hex(region.length)}, lies outside the file (size ${hex(hostSize)})`,
        { remedy: CUT_SHORT },
      );
    }
  }
  return { bat, metadata, occupied };
}

function validTable(section: Uint8Array, warnings: Warning[]): Uint8Array {
  for (const offset of TABLE_OFFSETS) {
    const table = section.subarray(offset, offset + TABLE_LENGTH);
    const view = viewOf(table);
    if (hasMagic(table, "regi") && view.getUint32(4, true) === crc32cOfStructure(table)) return table;
    const message = `the region table at ${hex(offset)} is damaged; the other copy is used`;
    warnings.push({ code: "VHDX_REGION_TABLE_DAMAGED", message });
  }
  throw new FormatError("FORMAT_CORRUPT", "neither copy of the region table has a valid signature and checksum", {
    remedy: DAMAGED,
  });
}

function parseEntries(table: Uint8Array): Region[] {
  const view = viewOf(table);
  const count = view.getUint32(8, true);
  if (count > MAX_REGIONS) {
    throw new FormatError(
      "FORMAT_OUT_OF_BOUNDS",
      `the region table has ${count} entries, above the limit of ${MAX_REGIONS}`,
    );
  }
  return Array.from({ length: count }, (_, i) => {
    const at = TABLE_HEADER_LENGTH + i * ENTRY_LENGTH;
    const name = guidAt(table, at);
    const offset = u64le(view, at + 16, "FileOffset of a region");
    const length = view.getUint32(at + 24, true);
    const required = (view.getUint32(at + 28, true) & 1) === 1;
    if (required && name !== BAT_REGION && name !== METADATA_REGION) {
      throw new FormatError("FORMAT_UNSUPPORTED", `the VHDX file requires a region that is not known: ${name}`, {
        remedy: "Convert it with the program that wrote it.",
        context: { guid: name },
      });
    }
    if (!isAligned(offset, MIB) || offset < MIB || !isAligned(length, MIB)) {
      throw new FormatError(
        "FORMAT_INVALID",
        `region ${name} lies at ${hex(offset)} with length ${hex(length)}, which are not multiples of 1 MiB after the header section`,
      );
    }
    return { name, offset, length };
  });
}

function only(regions: Region[], guid: string, name: string): Region {
  const [region, another] = regions.filter((r) => r.name === guid);
  if (region === undefined || another !== undefined) {
    throw new FormatError("FORMAT_CORRUPT", `the region table has ${another ? "more than one" : "no"} ${name}`, {
      remedy: DAMAGED,
    });
  }
  const named: Region = { name, offset: region.offset, length: region.length };
  regions[regions.indexOf(region)] = named;
  return named;
}

/** The region that overlaps [offset, offset + length), if one does. */
export function regionAt(occupied: readonly Region[], offset: number, length: number): Region | undefined {
  let low = 0;
  let high = occupied.length; // the first region that starts at or after the range's end
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((occupied[middle]?.offset ?? 0) < offset + length) low = middle + 1;
    else high = middle;
  }
  const last = occupied[low - 1];
  return last !== undefined && last.offset + last.length > offset ? last : undefined;
}
