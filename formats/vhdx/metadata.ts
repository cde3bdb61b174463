/**
 * The metadata region: sizes of the disk, of its blocks and sectors ([MS-VHDX] 2.6).
 *
 * A table of 64 KiB names items by GUID. An item that is marked required and not known is refused, and so is a
 * differencing disk: its parent is another file. The disk's identity and physical sector size are not needed.
 */
import { GIB, hasMagic, isPowerOfTwo, KIB, MIB, TIB, u64le, viewOf } from "../bytes.ts";
import type { Parsing } from "../disk-format.ts";
import { FormatError } from "../errors.ts";
import { guidAt } from "./guid.ts";
import type { HostFile } from "./host-file.ts";
import type { Region } from "./region-table.ts";

export interface DiskParameters {
  /** Bytes of the disk; a multiple of the logical sector size. */
  readonly virtualSize: number;
  /** Bytes of a payload block; a power of two. */
  readonly blockSize: number;
  readonly logicalSectorSize: 512 | 4096;
  /** The file was made with all its blocks allocated: qemu-img's `fixed`. */
  readonly leaveBlocksAllocated: boolean;
}

const TABLE_LENGTH = 64 * KIB;
const ENTRY_LENGTH = 32; // of the table's header too
const MAX_ITEMS = 2047; // the specification's; as many as fit
const ITEM_WINDOW = 64 * KIB; // items this close together are read at once: qemu's and Hyper-V's are

const MIN_BLOCK_SIZE = MIB;
const MAX_BLOCK_SIZE = GIB / 4;
const MAX_VIRTUAL_SIZE = 64 * TIB;

const FILE_PARAMETERS = "CAA16737-FA36-4D43-B3B6-33F0AA44E76B";
const VIRTUAL_DISK_SIZE = "2FA54224-CD1B-4876-B211-5DBED83BF4B8";
const LOGICAL_SECTOR_SIZE = "8141BF1D-A96F-4709-BA47-F233A8FAAB5F";

/** Name and length of the items that are read. */
const READ_ITEMS: Readonly<Record<string, { readonly name: string; readonly length: number }>> = {
  [FILE_PARAMETERS]: { name: "file parameters", length: 8 },
  [VIRTUAL_DISK_SIZE]: { name: "virtual disk size", length: 8 },
  [LOGICAL_SECTOR_SIZE]: { name: "logical sector size", length: 4 },
};

/** Known, and of no use for reading a disk without a parent. */
const SKIPPED_ITEMS: readonly string[] = [
  "BECA12AB-B2E6-4523-93EF-C309E000C746", // virtual disk ID
  "CDA348C7-445D-4471-9CC9-E9885251C556", // physical sector size
  "A8D35F2D-B30B-454D-ABF7-D3D84834AB0C", // parent locator
];

const IS_USER = 1;
const IS_REQUIRED = 4;
const LEAVE_BLOCKS_ALLOCATED = 1;
const HAS_PARENT = 2;

interface Item {
  readonly guid: string;
  /** Relative to the region. */
  readonly offset: number;
  readonly length: number;
}

/**
 * Reads the metadata table and the items that matter.
 * @throws FormatError FORMAT_UNSUPPORTED for a differencing disk or an unknown required item, FORMAT_INVALID and
 *         FORMAT_OUT_OF_BOUNDS for missing items and impossible values
 */
export function* readMetadata(file: HostFile, region: Region): Parsing<DiskParameters> {
  if (region.length < TABLE_LENGTH) {
    throw new FormatError("FORMAT_INVALID", `the metadata region has ${region.length} bytes, fewer than its table`);
  }
  const items = parseTable(yield* file.read(region.offset, TABLE_LENGTH), region);
  const values = yield* readItems(file, region, items);
  return checkedParameters(values);
}

function parseTable(table: Uint8Array, region: Region): Item[] {
  if (!hasMagic(table, "metadata")) {
    throw new FormatError("FORMAT_INVALID", `the metadata region does not start with "metadata"`);
  }
  const view = viewOf(table);
  const count = view.getUint16(10, true);
  if (count > MAX_ITEMS) {
    throw new FormatError(
      "FORMAT_OUT_OF_BOUNDS",
      `the metadata table has ${count} entries, above the limit of ${MAX_ITEMS}`,
    );
  }
  const items: Item[] = [];
  for (let at = ENTRY_LENGTH; at < (count + 1) * ENTRY_LENGTH; at += ENTRY_LENGTH) {
    const guid = guidAt(table, at);
    const offset = view.getUint32(at + 16, true);
    const length = view.getUint32(at + 20, true);
    const flags = view.getUint32(at + 24, true);
    const item = (flags & IS_USER) === 0 ? READ_ITEMS[guid] : undefined;
    if (item !== undefined) {
      if (length !== item.length || offset < TABLE_LENGTH || offset + length > region.length) {
        throw new FormatError(
          "FORMAT_INVALID",
          `the ${item.name} lie at ${offset} of the metadata region with length ${length}, which is not inside it or not the length of ${item.length}`,
        );
      }
      if (items.some((other) => other.guid === guid)) {
        throw new FormatError("FORMAT_CORRUPT", `the metadata table names the ${item.name} twice`);
      }
      items.push({ guid, offset, length });
    } else if ((flags & IS_REQUIRED) !== 0 && !((flags & IS_USER) === 0 && SKIPPED_ITEMS.includes(guid))) {
      throw new FormatError("FORMAT_UNSUPPORTED", `the VHDX file requires a metadata item that is not known: ${guid}`, {
        remedy: "Convert it with the program that wrote it.",
        context: { guid },
      });
    }
  }
  return items;
}

function* readItems(file: HostFile, region: Region, items: readonly Item[]): Parsing<Map<string, DataView>> {
  const values = new Map<string, DataView>();
  const ascending = items.toSorted((a, b) => a.offset - b.offset);
  const first = ascending[0]?.offset ?? 0;
  const end = Math.max(0, ...items.map((item) => item.offset + item.length));
  const window =
    end > first && end - first <= ITEM_WINDOW ? yield* file.read(region.offset + first, end - first) : undefined;
  for (const { guid, offset, length } of ascending) {
    const bytes =
      window?.subarray(offset - first, offset - first + length) ?? (yield* file.read(region.offset + offset, length));
    values.set(guid, viewOf(bytes));
  }
  return values;
}

function checkedParameters(values: ReadonlyMap<string, DataView>): DiskParameters {
  const parameters = required(values, FILE_PARAMETERS);
  const flags = parameters.getUint32(4, true);
  if ((flags & HAS_PARENT) !== 0) {
    throw new FormatError(
      "FORMAT_UNSUPPORTED",
      "the VHDX file is a differencing disk: part of its content is in a parent file",
      {
        remedy: "Merge it into its parent first (Hyper-V: Merge-VHD), or convert the chain where the parent is.",
      },
    );
  }
  const blockSize = parameters.getUint32(0, true);
  if (!isPowerOfTwo(blockSize) || blockSize < MIN_BLOCK_SIZE || blockSize > MAX_BLOCK_SIZE) {
    throw new FormatError(
      "FORMAT_INVALID",
      `the block size is ${blockSize}; it must be a power of two from 1 MiB to 256 MiB`,
      {
        remedy: "The file is damaged; take another copy of it.",
      },
    );
  }
  const logicalSectorSize = required(values, LOGICAL_SECTOR_SIZE).getUint32(0, true);
  if (logicalSectorSize !== 512 && logicalSectorSize !== 4096) {
    throw new FormatError("FORMAT_INVALID", `the logical sector size is ${logicalSectorSize}; it must be 512 or 4096`, {
      remedy: "The file is damaged; take another copy of it.",
    });
  }
  const virtualSize = u64le(required(values, VIRTUAL_DISK_SIZE), 0, "VirtualDiskSize");
  if (virtualSize > MAX_VIRTUAL_SIZE) {
    throw new FormatError(
      "FORMAT_OUT_OF_BOUNDS",
      `the virtual size is ${virtualSize} bytes, above the limit of 64 TiB`,
      {
        remedy: "The file is damaged; take another copy of it.",
      },
    );
  }
  if (virtualSize % logicalSectorSize !== 0) {
    throw new FormatError(
      "FORMAT_INVALID",
      `the virtual size of ${virtualSize} bytes is not a multiple of the logical sector size ${logicalSectorSize}`,
      {
        remedy: "The file is damaged; take another copy of it.",
      },
    );
  }
  return { virtualSize, blockSize, logicalSectorSize, leaveBlocksAllocated: (flags & LEAVE_BLOCKS_ALLOCATED) !== 0 };
}

function required(values: ReadonlyMap<string, DataView>, guid: string): DataView {
  const value = values.get(guid);
  if (value === undefined) {
    throw new FormatError("FORMAT_INVALID", `the metadata has no ${READ_ITEMS[guid]?.name ?? guid}`);
  }
  return value;
}
