/**
 * What a target is: where a disk is poured to. A file, a block device, or nothing.
 *
 * Everything is synchronous. A target lives in the main thread; worker threads write beside it with a PositionedWriter made
 * from its `writer`. The order is: begin, writes and zeros in any order and from any thread, resize, flush, commit. Until
 * commit has returned nothing is in place: a file has a hidden name, a device no first MiB. All offsets and lengths are
 * bytes of the disk; ranges of zeros and writes are disjoint.
 */
import type { WriterSpec } from "./positioned-writer.ts";

/** qemu-img's words. `falloc`: the space is reserved. `full`: zeros are written like data. */
export type Preallocation = "off" | "falloc" | "full";

export interface Target {
  readonly kind: "file" | "block-device" | "null";
  /** Safe to show. */
  readonly name: string;
  /** What is not written reads as zeros. Certain once `begin` has returned. */
  readonly startsZeroed: boolean;
  /** Bytes. The disk is padded to a multiple of it: 1 for a file, a device's logical sector (512 or 4096). */
  readonly sectorSize: number;
  /** Bytes that it can hold; undefined where nobody knows. */
  readonly capacity: number | undefined;
  /** What worker threads write with; undefined: they need not write. Certain once `begin` has returned. */
  readonly writer: WriterSpec | undefined;
  /** Sentences about what was asked for and could not be done as asked, for the log. */
  readonly notes: readonly string[];

  /**
   * The image is known and nothing is written yet: compares sizes, sets the length, reserves space, makes a device's first
   * and last MiB unbootable.
   * @param virtualSize of the disk as it will be; undefined where only the end of a stream tells
   * @throws TargetError TARGET_TOO_SMALL, TARGET_NO_SPACE with both figures; TARGET_IO
   */
  begin(virtualSize: number | undefined): void;
  /** Writes all of `bytes`, which stay the caller's. @throws TargetError */
  writeAt(bytes: Uint8Array, offset: number): void;
  /**
   * Reads the disk as commit will leave it.
   * @returns how many bytes; fewer than asked only at the target's end
   * @throws TargetError TARGET_IO; UsageError from `null:`, which keeps nothing
   */
  readAt(into: Uint8Array, offset: number): number;
  /** The first offset at or after `offset` that may hold anything but zeros; Infinity: none. Passes over a file's holes. */
  nextData(offset: number): number;
  /**
   * Makes a range read as zeros without writing them all, while other threads may write around it.
   * @returns false: cannot, and the caller writes zeros; some of them may be there already
   * @throws TargetError for a failure that is not "cannot"
   */
  zeroAt(offset: number, length: number): boolean;
  /** Sets the final length. A device only takes note. @throws TargetError as begin does */
  resize(size: number): void;
  /** All that was written is on stable storage when this returns, but for a device's held first MiB. @throws TargetError */
  flush(): void;
  /** Everything was checked: puts the disk in its place, durably, and closes it. @throws TargetError, UsageError */
  commit(): void;
  /** After a failure, with no thread writing any more: leaves nothing that boots, and closes. Never throws; after commit it does nothing. */
  abort(): void;
}
