/**
 * Makes ranges of a block device read as zeros, by the first method that works here.
 *
 * Punching a hole promises zeros and may unmap. A discard promises nothing: it counts only where every byte was read back as
 * zero, and not at all on a device that once gave something else. BLKZEROOUT lets the kernel write. A method that is not
 * supported is not tried again. All three drop the range's pages from the cache, so ranges are whole pages, and no other
 * thread may be writing in them.
 */
import fs from "node:fs";
import { alignDown, alignUp, MIB } from "../../formats/bytes.ts";
import { deviceFolder, isUnsupported, kernelError } from "../kernel.ts";
import type { Errno, Kernel } from "../kernel.ts";

type Method = "zero-range" | "punch-hole" | "discard" | "zero-out";

const PAGE = 4096;

/** What the kernel answers when a SCSI disk does not know a command that it had announced. */
const REFUSED_BY_DISK = "EREMOTEIO";

/** A device that discards only in larger pieces is not discarded: too much would be left to write beside them. */
const MAX_DISCARD_GRANULARITY = 16 * MIB;

export interface DeviceZeroingOptions {
  readonly fd: number;
  readonly rdev: number;
  readonly sectorSize: number;
  readonly capacity: number;
  /** Zeros are to take space: nothing is unmapped. */
  readonly preallocate: boolean;
  readonly kernel: Kernel | undefined;
  /** For the edges of a range, and for reading back. */
  writeZeros(offset: number, length: number): void;
  readAt(into: Uint8Array, offset: number): number;
}

export class DeviceZeroing {
  readonly #options: DeviceZeroingOptions;
  #methods: Method[];
  #discardGranularity: number | undefined;
  #readBack: Buffer | undefined;
  readonly #zeros = Buffer.alloc(MIB);

  constructor(options: DeviceZeroingOptions) {
    this.#options = options;
    if (options.kernel === undefined) this.#methods = [];
    else if (options.preallocate) this.#methods = ["zero-range", "zero-out"];
    else this.#methods = ["punch-hole", "discard", "zero-out"];
  }

  /** The methods that may still work, best first. */
  get methods(): readonly string[] {
    return this.#methods;
  }

  /**
   * @returns false if no method works here; some of the range may read as zeros already
   * @throws what node:fs throws, or an error of the same shape
   */
  zero(offset: number, length: number): boolean {
    if (this.#methods.length === 0) return false;
    const { start, end } = this.#inside(offset, offset + length, Math.max(PAGE, this.#options.sectorSize));
    if (start >= end) {
      this.#options.writeZeros(offset, length);
      return true;
    }
    // The edges first: they go through the cache, which the methods drop for whole pages only.
    this.#options.writeZeros(offset, start - offset);
    this.#options.writeZeros(end, offset + length - end);
    while (this.#methods[0] !== undefined) {
      const method = this.#methods[0];
      const errno = this.#run(method, start, end);
      if (errno === undefined) return true;
      if (!isUnsupported(errno) && errno !== REFUSED_BY_DISK) throw kernelError(errno, method);
      this.#methods.shift();
    }
    return false;
  }

  /** The part of a range that is whole pieces. The device's last piece may be shorter. */
  #inside(offset: number, end: number, piece: number): { start: number; end: number } {
    const start = alignUp(offset, piece);
    return { start, end: end === this.#options.capacity ? end : alignDown(end, piece) };
  }

  #run(method: Method, start: number, end: number): Errno | undefined {
    const { fd, kernel } = this.#options;
    if (kernel === undefined) return "ENOSYS";
    if (method === "discard") return this.#discard(kernel, start, end);
    if (method === "zero-out") return kernel.blockZeroOut(fd, start, end - start);
    return kernel.fallocate(fd, method, start, end - start);
  }

  #discard(kernel: Kernel, start: number, end: number): Errno | undefined {
    this.#discardGranularity ??= readGranularity(this.#options.rdev);
    const piece = Math.max(PAGE, this.#options.sectorSize, this.#discardGranularity);
    if (piece > MAX_DISCARD_GRANULARITY) return "EOPNOTSUPP";
    const inside = this.#inside(start, end, piece);
    if (inside.start >= inside.end) {
      this.#options.writeZeros(start, end - start);
      return undefined;
    }
    const errno = kernel.blockDiscard(this.#options.fd, inside.start, inside.end - inside.start);
    if (errno !== undefined) return errno;
    if (!this.#readsAsZeros(inside.start, inside.end)) return "EOPNOTSUPP";
    kernel.dropCleanPages(this.#options.fd);
    this.#options.writeZeros(start, inside.start - start);
    this.#options.writeZeros(inside.end, end - inside.end);
    return undefined;
  }

  #readsAsZeros(start: number, end: number): boolean {
    const buffer = (this.#readBack ??= Buffer.alloc(MIB));
    for (let at = start; at < end; at += buffer.length) {
      const piece = buffer.subarray(0, Math.min(buffer.length, end - at));
      if (this.#options.readAt(piece, at) < piece.length) return false;
      if (!piece.equals(this.#zeros.subarray(0, piece.length))) return false;
    }
    return true;
  }
}

/** What sysfs says a discard must be a multiple of; 0 if it says nothing. */
function readGranularity(rdev: number): number {
  const folder = deviceFolder(rdev);
  for (const queue of [`${folder}/queue`, `${folder}/../queue`]) {
    try {
      return Number(fs.readFileSync(`${queue}/discard_granularity`, "latin1"));
    } catch {
      continue; // a partition has no queue of its own
    }
  }
  return 0;
}
