/**
 * Writes to a target's descriptor, from any thread, in whole sectors.
 *
 * A disk's extents come in units of 512 bytes or less, a device may take only multiples of 4096: the first and last sector
 * of a write that covers them partly are read, patched and written back under a lock that all threads share, so that two
 * threads write the two halves of a sector in any order. The held head (a device's first MiB) goes to shared memory; the
 * target writes it at its commit. O_DIRECT also wants aligned memory: there bytes pass through an aligned buffer.
 */
import fs from "node:fs";
import { alignDown, alignUp, MIB } from "../../formats/bytes.ts";
import { alignedBuffer } from "../direct-io.ts";
import { TargetError, toTargetError } from "../errors.ts";
import { withLock } from "./shared-locks.ts";
import { WriteBehind } from "./write-behind.ts";
import type { WriteBehindSpec } from "./write-behind.ts";

/** Plain data that can be sent to a thread. */
export interface WriterSpec {
  readonly fd: number;
  /** Safe to show. */
  readonly name: string;
  /** Every write is a multiple of it, at a multiple of it; 1: any. */
  readonly sectorSize: number;
  /** Bytes; a write past it is TARGET_TOO_SMALL. */
  readonly capacity: number | undefined;
  /** The descriptor is O_DIRECT. */
  readonly direct: boolean;
  /** The disk's first bytes, kept here until commit. */
  readonly heldHead: SharedArrayBuffer | undefined;
  /** From `allocateLocks`. */
  readonly locks: SharedArrayBuffer;
  /** Undefined: dirty pages are not bounded. */
  readonly writeBehind: WriteBehindSpec | undefined;
}

/** Memory for O_DIRECT is aligned to a page, which every device accepts. */
const MEMORY_ALIGNMENT = 4096;

/** Bytes that one O_DIRECT write takes. */
const DIRECT_LENGTH = MIB;

const ZERO_LENGTH = MIB;

export class PositionedWriter {
  readonly #spec: WriterSpec;
  readonly #head: Uint8Array;
  readonly #writeBehind: WriteBehind | undefined;
  #sector: Buffer | undefined;
  #aligned: Buffer | undefined;
  #zeros: Uint8Array | undefined;

  constructor(spec: WriterSpec) {
    this.#spec = spec;
    this.#head = spec.heldHead === undefined ? new Uint8Array(0) : new Uint8Array(spec.heldHead);
    this.#writeBehind = spec.writeBehind === undefined ? undefined : new WriteBehind(spec.writeBehind);
  }

  /**
   * Writes all of `bytes`; they stay the caller's.
   * @throws TargetError TARGET_TOO_SMALL past the capacity, else by errno
   */
  write(bytes: Uint8Array, offset: number): void {
    const { capacity, name } = this.#spec;
    if (capacity !== undefined && offset + bytes.length > capacity) {
      throw new TargetError("TARGET_TOO_SMALL", `the disk does not fit ${name}, which holds ${capacity} bytes`, {
        context: { capacity, offset, length: bytes.length },
      });
    }
    const held = Math.max(0, Math.min(bytes.length, this.#head.length - offset));
    if (held > 0) this.#head.set(bytes.subarray(0, held), offset);
    if (held === bytes.length) return;
    try {
      this.#writeSectors(bytes.subarray(held), offset + held);
      this.#writeBehind?.wrote(bytes.length - held);
    } catch (error) {
      throw toTargetError(error, `write ${bytes.length} bytes at ${offset} to`, name);
    }
  }

  /** Writes zeros. @throws TargetError as `write` does */
  zeroes(offset: number, length: number): void {
    this.#zeros ??= new Uint8Array(ZERO_LENGTH);
    for (let done = 0; done < length; done += ZERO_LENGTH) {
      this.write(this.#zeros.subarray(0, Math.min(ZERO_LENGTH, length - done)), offset + done);
    }
  }

  #writeSectors(bytes: Uint8Array, offset: number): void {
    const { sectorSize } = this.#spec;
    const end = offset + bytes.length;
    const wholeStart = Math.min(end, alignUp(offset, sectorSize));
    if (wholeStart > offset) this.#patch(bytes.subarray(0, wholeStart - offset), offset);
    const wholeEnd = Math.max(wholeStart, alignDown(end, sectorSize));
    if (wholeEnd > wholeStart) this.#writeWhole(bytes.subarray(wholeStart - offset, wholeEnd - offset), wholeStart);
    if (end > wholeEnd) this.#patch(bytes.subarray(wholeEnd - offset), wholeEnd);
  }

  /** `bytes` lie in one sector. */
  #patch(bytes: Uint8Array, offset: number): void {
    const { fd, locks, sectorSize } = this.#spec;
    const start = alignDown(offset, sectorSize);
    const sector = (this.#sector ??= this.#allocate(sectorSize));
    withLock(locks, start / sectorSize, () => {
      const count = readFully(fd, sector, start);
      sector.fill(0, count); // past the end of a file
      sector.set(bytes, offset - start);
      writeFully(fd, sector, start);
    });
  }

  #writeWhole(bytes: Uint8Array, offset: number): void {
    const { fd, direct } = this.#spec;
    if (!direct) {
      writeFully(fd, bytes, offset);
      return;
    }
    const aligned = (this.#aligned ??= this.#allocate(DIRECT_LENGTH));
    for (let done = 0; done < bytes.length; done += DIRECT_LENGTH) {
      const piece = bytes.subarray(done, done + DIRECT_LENGTH);
      aligned.set(piece);
      writeFully(fd, aligned.subarray(0, piece.length), offset + done);
    }
  }

  #allocate(length: number): Buffer {
    return this.#spec.direct ? alignedBuffer(length, MEMORY_ALIGNMENT) : Buffer.alloc(length);
  }
}

/** Writes all of `bytes`, however short the kernel's writes are. @throws what node:fs throws */
export function writeFully(fd: number, bytes: Uint8Array, offset: number): void {
  for (let done = 0; done < bytes.length;) {
    done += fs.writeSync(fd, bytes, done, bytes.length - done, offset + done);
  }
}

/** Reads until `into` is full or the file ends; returns how many bytes. @throws what node:fs throws */
export function readFully(fd: number, into: Uint8Array, offset: number): number {
  let done = 0;
  while (done < into.length) {
    const count = fs.readSync(fd, into, done, into.length - done, offset + done);
    if (count === 0) break;
    done += count;
  }
  return done;
}
