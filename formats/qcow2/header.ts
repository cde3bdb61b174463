/**
 * The qcow2 header: the first 72 bytes (version 2) or at least 104 (version 3) of the file, all big-endian.
 *
 * What cannot be read is refused here, by name, before any table is looked at: backing files, external data files,
 * encryption, and incompatible features that are not known. The field names are those of QEMU's docs/interop/qcow2.txt.
 */
import { hasMagic, hex, KIB, MIB, u64be, viewOf } from "../bytes.ts";
import type { Parsing } from "../disk-format.ts";
import { FormatError } from "../errors.ts";
import { parseHeaderExtensions } from "./header-extensions.ts";
import type { HeaderExtensions } from "./header-extensions.ts";
import { refuseBackingFile, refuseEncryption, refuseIncompatible, refuseVersion } from "./refusals.ts";

export interface Header {
  readonly version: 2 | 3;
  readonly clusterBits: number;
  /** As the header says, in bytes; not necessarily a multiple of 512. */
  readonly size: number;
  /** Entries of the L1 table. It may be longer than the disk needs. */
  readonly l1Size: number;
  /** Host offset, a multiple of the cluster size. */
  readonly l1TableOffset: number;
  /** Host offset; not checked, because nothing is read by it. */
  readonly refcountTableOffset: number;
  readonly refcountTableClusters: number;
  readonly snapshotCount: number;
  readonly compression: "zlib" | "zstd";
  readonly extendedL2: boolean;
  readonly dirty: boolean;
  readonly corrupt: boolean;
  readonly lazyRefcounts: boolean;
  readonly extensions: HeaderExtensions;
  /** How many bytes from the file's start were asked for. */
  readonly lengthRead: number;
}

export const QCOW2_MAGIC = "QFI\xfb";

const V2_LENGTH = 72;
const V3_LENGTH = 104;

// QEMU's limits.
const MIN_CLUSTER_BITS = 9; // 512 bytes
const MAX_CLUSTER_BITS = 21; // 2 MiB
const MIN_EXTENDED_CLUSTER_BITS = 14; // 16 KiB: 32 subclusters of 512 bytes
const MAX_L1_LENGTH = 32 * MIB; // enough for a 2 PiB disk of 64 KiB clusters
const MAX_REFCOUNT_TABLE_LENGTH = 8 * MIB;
// Our own: QEMU writes a header and extensions of some 500 bytes, and a cluster may be 2 MiB.
const MAX_HEAD_LENGTH = 64 * KIB;

// incompatible_features; bit 2, the external data file, is refused.
const DIRTY = 1;
const CORRUPT = 2;
const COMPRESSION_TYPE = 8;
const EXTENDED_L2 = 16;
const READABLE = DIRTY | CORRUPT | COMPRESSION_TYPE | EXTENDED_L2;
// compatible_features, bit 0.
const LAZY_REFCOUNTS = 1;

/**
 * Reads and checks the header and its extensions.
 * @throws FormatError FORMAT_UNRECOGNISED (magic), FORMAT_INVALID, FORMAT_OUT_OF_BOUNDS (a limit), FORMAT_UNSUPPORTED (named)
 */
export function* readHeader(): Parsing<Header> {
  const first = new Uint8Array(yield { offset: 0, length: V2_LENGTH, shortAtEnd: true });
  if (!hasMagic(first, QCOW2_MAGIC)) {
    throw new FormatError("FORMAT_UNRECOGNISED", "the file does not begin as a qcow2 image");
  }
  requireLength(first, V2_LENGTH);
  const version = viewOf(first).getUint32(4);
  if (version !== 2 && version !== 3) throw refuseVersion(version);
  const clusterBits = viewOf(first).getUint32(20);
  checkLimit("cluster_bits", clusterBits, MIN_CLUSTER_BITS, MAX_CLUSTER_BITS);

  const lengthRead = Math.min(2 ** clusterBits, MAX_HEAD_LENGTH);
  const rest = yield { offset: V2_LENGTH, length: lengthRead - V2_LENGTH, shortAtEnd: true };
  const head = new Uint8Array(V2_LENGTH + rest.length);
  head.set(first);
  head.set(rest, V2_LENGTH);
  return parseHeader(head, version, clusterBits, lengthRead);
}

function parseHeader(head: Uint8Array, version: 2 | 3, clusterBits: number, lengthRead: number): Header {
  requireLength(head, version === 2 ? V2_LENGTH : V3_LENGTH);
  const view = viewOf(head);
  const clusterSize = 2 ** clusterBits;
  const l1Size = view.getUint32(36);
  checkLimit("l1_size", l1Size, 0, MAX_L1_LENGTH / 8);
  const refcountTableClusters = view.getUint32(56);
  // Nothing is read by it; but an image that claims more than QEMU would open was made to harm somebody.
  checkLimit("refcount_table_clusters", refcountTableClusters, 0, MAX_REFCOUNT_TABLE_LENGTH / clusterSize);
  const headerLength = readHeaderLength(view, version, clusterSize);
  requireLength(head, Math.min(headerLength, lengthRead));

  const backing = { offset: u64be(view, 8, "backing_file_offset"), length: view.getUint32(16) };
  if (backing.offset !== 0 && backing.length !== 0) {
    throw refuseBackingFile(head.subarray(backing.offset, backing.offset + backing.length));
  }
  const cryptMethod = view.getUint32(32);
  if (cryptMethod !== 0) throw refuseEncryption(cryptMethod);
  const extensions = parseHeaderExtensions(head, headerLength, clusterSize);
  const incompatible = version === 2 ? 0 : view.getUint32(76);
  const incompatibleHigh = version === 2 ? 0 : view.getUint32(72);
  if ((incompatible & ~READABLE) !== 0 || incompatibleHigh !== 0) {
    throw refuseIncompatible(incompatible & ~READABLE, incompatibleHigh, extensions.incompatibleNames);
  }
  const extendedL2 = (incompatible & EXTENDED_L2) !== 0;
  if (extendedL2 && clusterBits < MIN_EXTENDED_CLUSTER_BITS) {
    throw new FormatError("FORMAT_INVALID", `extended L2 entries need clusters of 16 KiB, not of ${clusterSize} bytes`);
  }
  return {
    version,
    clusterBits,
    size: u64be(view, 24, "size"),
    l1Size,
    l1TableOffset: readL1TableOffset(view, l1Size, clusterSize),
    refcountTableOffset: (view.getUint32(48) & 0x001f_ffff) * 2 ** 32 + view.getUint32(52),
    refcountTableClusters,
    snapshotCount: view.getUint32(60),
    compression: readCompression(head, headerLength, (incompatible & COMPRESSION_TYPE) !== 0),
    extendedL2,
    dirty: (incompatible & DIRTY) !== 0,
    corrupt: (incompatible & CORRUPT) !== 0,
    lazyRefcounts: version === 3 && (view.getUint32(84) & LAZY_REFCOUNTS) !== 0,
    extensions,
    lengthRead,
  };
}

function requireLength(bytes: Uint8Array, length: number): void {
  if (bytes.length < length) {
    throw new FormatError("FORMAT_INVALID", `the file ends at ${bytes.length}, inside the qcow2 header`);
  }
}

function checkLimit(field: string, value: number, least: number, most: number): void {
  if (value < least || value > most) {
    throw new FormatError("FORMAT_OUT_OF_BOUNDS", `${field} is ${value}, outside the limits of ${least} to ${most}`, {
      context: { field },
    });
  }
}

function readHeaderLength(view: DataView, version: 2 | 3, clusterSize: number): number {
  if (version === 2) return V2_LENGTH;
  const length = view.getUint32(100);
  if (length < V3_LENGTH || length > clusterSize) {
    throw new FormatError(
      "FORMAT_INVALID",
      `header_length is ${length}, not between ${V3_LENGTH} and the cluster size`,
    );
  }
  return length;
}

function readL1TableOffset(view: DataView, l1Size: number, clusterSize: number): number {
  const offset = u64be(view, 40, "l1_table_offset");
  if (l1Size !== 0 && (offset === 0 || offset % clusterSize !== 0)) {
    throw new FormatError(
      "FORMAT_INVALID",
      `l1_table_offset is ${hex(offset)}, not a multiple of the cluster size after the header`,
    );
  }
  return offset;
}

/** Byte 104, present if the header is long enough; the incompatible bit must say the same (QEMU refuses a difference). */
function readCompression(bytes: Uint8Array, headerLength: number, flagged: boolean): "zlib" | "zstd" {
  const type = headerLength > V3_LENGTH ? (bytes[V3_LENGTH] ?? 0) : 0;
  if (type > 1) {
    throw new FormatError("FORMAT_UNSUPPORTED", `compression type ${type} is not known`, {
      remedy: "Convert the image with qemu-img convert -O qcow2 -o compression_type=zstd first.",
    });
  }
  if ((type !== 0) !== flagged) {
    throw new FormatError(
      "FORMAT_INVALID",
      `compression type ${type} and its incompatible feature bit contradict each other`,
    );
  }
  return type === 0 ? "zlib" : "zstd";
}
