/**
 * What a disk format is, and what a parser of one may do.
 *
 * A parser is a generator. It yields the range of the image file that it needs and is sent exactly those bytes; it never
 * opens, seeks or waits. So one parser serves a local file, HTTP ranges and a stream that passes once, and a test can
 * drive it from an array. "Host" offsets are positions in the image file, "virtual" offsets (plain `offset`) positions on
 * the disk that the guest sees. All in bytes; ranges are half open.
 */

/** The size of the first and of the last bytes of a file that formats are recognised by. */
export const HEAD_LENGTH = 64 * 1024;
export const TAIL_LENGTH = 512;

/** Bytes of the image file that a parser needs next. */
export interface Need {
  /** Host offset. */
  readonly offset: number;
  /** At least 1. A parser bounds it itself: no Need is longer than MAX_NEED_LENGTH. */
  readonly length: number;
  /**
   * At the end of the file the driver may answer with fewer bytes, or none. Without it a file that ends too early is
   * FORMAT_INVALID, thrown into the generator by nobody: the driver stops and reports it.
   */
  readonly shortAtEnd?: true;
  /**
   * Only in `scan`: the bytes may still be announced as an extent later. Without it a driver of a stream forgets them
   * once they are delivered, and an extent must not lie in them.
   */
  readonly peek?: true;
}

/** No parser asks for more at once, so that a driver's buffers are bounded. An L2 table of 2 MiB is the largest. */
export const MAX_NEED_LENGTH = 4 * 1024 * 1024;

/** A generator that yields what it needs, is sent those bytes (valid until its next yield only), and returns a T. */
export type Parsing<T> = Generator<Need, T, Uint8Array>;

/** Where an extent's bytes lie in the image file, and how they are encoded there. */
export type Stored =
  | { readonly encoding: "plain"; readonly offset: number; readonly length: number }
  | EncodedStored
  | { readonly encoding: "inline"; readonly bytes: Uint8Array };

export interface EncodedStored {
  /** `deflate` is raw, `zlib` has its two-byte header, `vmdk-grain` is a grain marker (12 bytes) and then zlib. */
  readonly encoding: "deflate" | "zlib" | "zstd" | "vmdk-grain";
  /** Host offset. */
  readonly offset: number;
  /** Upper bound: the encoded bytes end somewhere in it, and the file may end before it does. */
  readonly length: number;
  /** What the encoded bytes decode to: a cluster or a grain. */
  readonly decodedLength: number;
  /** The extent is decoded[skip, skip + extent.length). */
  readonly skip: number;
}

/**
 * A range of the disk. `hole` is unallocated and reads as zeros, `zero` is allocated and reads as zeros, and keeps the
 * host offset of preallocated space (`qemu-img map` shows it). Extents in a list are ascending and disjoint.
 */
export type Extent =
  | { readonly kind: "hole" | "zero"; readonly offset: number; readonly length: number; readonly hostOffset?: number }
  | { readonly kind: "data"; readonly offset: number; readonly length: number; readonly stored: Stored };

/** An oddity that real images contain: reported, never silent, an error with --strict. */
export interface Warning {
  /** Stable, upper case, for instance `QCOW2_DIRTY`. */
  readonly code: string;
  readonly message: string;
}

export interface DiskFormat {
  /** qemu-img's name. */
  readonly name: "raw" | "qcow2" | "vmdk" | "vpc" | "vhdx" | "vdi";
  /**
   * @param head the first HEAD_LENGTH bytes of the file, or all of it
   * @param tail the last TAIL_LENGTH bytes where they are known (a fixed VHD is known by its footer)
   */
  probe(head: Uint8Array, tail: Uint8Array | undefined): boolean;
  /**
   * Reads the headers.
   * @param hostSize length of the file; undefined for a stream of unknown length
   * @throws FormatError as the format's own file says
   */
  open(hostSize: number | undefined): Parsing<DiskImage>;
}

export interface DiskImage {
  readonly format: DiskFormat["name"];
  /** Bytes of the disk that the guest sees; undefined only where the end of a stream decides (raw). */
  readonly virtualSize: number | undefined;
  /** What `inspect` shows, a phrase each: `cluster size 64 KiB`, `compression zstd`. */
  readonly features: readonly string[];
  readonly warnings: readonly Warning[];
  /**
   * Random access, in virtual order: the extents of [offset, offset + length), ascending, contiguous, cut to the range;
   * may return fewer than asked (at least one, which starts at `offset`). Plain data that is contiguous in the host
   * file too is merged, as are neighbouring holes and zeros. Re-entrant: drivers run many at once.
   * The range must lie inside the virtual size and not be empty.
   */
  extents(offset: number, length: number): Parsing<readonly Extent[]>;
  /**
   * Single pass, in host order: metadata is asked for in ascending host order where the file allows, and each extent is
   * announced as soon as its place is known, before or after its bytes went by. At most MAX_ANNOUNCED extents at once.
   * Ranges of the disk never mentioned are holes. Sent bytes after a Need, undefined after extents.
   * Yields nothing for the rest of the file once all is announced; the driver reads on for what it still owes.
   */
  scan(): Generator<Need | readonly Extent[], { readonly virtualSize: number }, Uint8Array | undefined>;
}

/** The most extents that one announcement of `scan` or one answer of `extents` holds. */
export const MAX_ANNOUNCED = 8192;
