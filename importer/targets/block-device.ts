/**
 * A block device as a target.
 *
 * It is never assumed to hold zeros. Its first and last MiB are zeroed before anything is written, and what goes to its first
 * MiB waits in memory until commit, so that a run that ends in any other way, killed or without power, leaves nothing that
 * boots. After a commit what lies behind a shorter disk is as it was. All writes are whole logical sectors.
 */
import fs from "node:fs";
import { alignUp, MIB } from "../../formats/bytes.ts";
import { canAlignBuffers } from "../direct-io.ts";
import { errnoName, TargetError, toTargetError } from "../errors.ts";
import { deviceGeometry } from "../kernel.ts";
import type { Kernel } from "../kernel.ts";
import { deviceUse } from "./device-use.ts";
import { DeviceZeroing } from "./device-zeroing.ts";
import { PositionedWriter, readFully } from "./positioned-writer.ts";
import type { WriterSpec } from "./positioned-writer.ts";
import { allocateLocks } from "./shared-locks.ts";
import type { Preallocation, Target } from "./target.ts";
import { writeBehindSpec } from "./write-behind.ts";

export interface BlockDeviceOptions {
  readonly preallocate: Preallocation;
  readonly direct: boolean;
  readonly assumeZero: boolean;
  /** Undefined: no kernel calls. */
  readonly kernel: Kernel | undefined;
}

/** Bytes at either end of a disk without which nothing boots: partition tables, boot sectors, and the copy of a GPT. */
const BOOT_AREA = MIB;

const { O_DIRECT, O_EXCL, O_RDWR } = fs.constants;

/** @throws TargetError TARGET_BUSY (mounted, or part of something), TARGET_DENIED, TARGET_IO */
export function openBlockDevice(name: string, options: BlockDeviceOptions): Target {
  const notes: string[] = [];
  const { rdev } = fs.statSync(name);
  const use = deviceUse(rdev);
  if (use !== undefined) throw busy(name, use, undefined);
  const { fd, direct } = openDescriptor(name, options.direct, notes);
  try {
    // The name may have been given to another device between the two.
    return new BlockDeviceTarget(name, fd, fs.fstatSync(fd).rdev, { ...options, direct }, notes);
  } catch (error) {
    fs.closeSync(fd);
    throw toTargetError(error, "learn the size of", name);
  }
}

function openDescriptor(name: string, wantsDirect: boolean, notes: string[]): { fd: number; direct: boolean } {
  const direct = wantsDirect && canAlignBuffers();
  if (wantsDirect && !direct)
    notes.push("O_DIRECT needs the package @ronomon/direct-io, which is not installed; writing through the page cache");
  try {
    // On a device O_EXCL asks for exclusive use, which a mount or a device built on it has already.
    return { fd: fs.openSync(name, O_RDWR | O_EXCL | (direct ? O_DIRECT : 0)), direct };
  } catch (error) {
    const errno = errnoName(error);
    if (errno === "EBUSY") throw busy(name, "in use by the system or another process", error);
    if (errno === "EINVAL" && direct) {
      notes.push(`${name} refuses O_DIRECT, so it is written through the page cache`);
      return openDescriptor(name, false, notes);
    }
    if (errno === "EACCES" || errno === "EPERM") throw denied(name, error);
    throw toTargetError(error, "open", name);
  }
}

class BlockDeviceTarget implements Target {
  readonly kind = "block-device";
  readonly name: string;
  readonly startsZeroed: boolean;
  readonly sectorSize: number;
  readonly capacity: number;
  readonly writer: WriterSpec;
  readonly notes: readonly string[];
  readonly #fd: number;
  readonly #direct: boolean;
  readonly #head: Uint8Array;
  readonly #writer: PositionedWriter;
  /** The device without the held head: what makes the device's own ends. */
  readonly #unheld: PositionedWriter;
  readonly #zeroing: DeviceZeroing;
  #size: number | undefined;
  /** What the device's ends held before begin: behind a shorter disk it comes back at commit. */
  #oldEnds: readonly { readonly offset: number; readonly bytes: Uint8Array }[] = [];
  #begun = false;
  #open = true;

  constructor(name: string, fd: number, rdev: number, options: BlockDeviceOptions, notes: string[]) {
    const geometry = deviceGeometry(fd, rdev, options.kernel);
    const preallocate = options.preallocate !== "off";
    this.name = name;
    this.sectorSize = geometry.logicalSectorSize;
    this.capacity = geometry.size;
    this.startsZeroed = options.assumeZero && !preallocate;
    this.notes = notes;
    this.#fd = fd;
    this.#direct = options.direct;
    const heldHead = new SharedArrayBuffer(Math.min(BOOT_AREA, this.capacity));
    this.#head = new Uint8Array(heldHead);
    this.writer = {
      fd,
      name,
      sectorSize: this.sectorSize,
      capacity: this.capacity,
      direct: options.direct,
      heldHead,
      locks: allocateLocks(),
      writeBehind: options.direct ? undefined : writeBehindSpec(fd, options.kernel !== undefined),
    };
    this.#writer = new PositionedWriter(this.writer);
    // Locks of its own: a thread that was ended may hold one of the others for ever.
    this.#unheld = new PositionedWriter({
      ...this.writer,
      heldHead: undefined,
      locks: allocateLocks(),
      writeBehind: undefined,
    });
    this.#zeroing = new DeviceZeroing({
      fd,
      rdev,
      sectorSize: this.sectorSize,
      capacity: this.capacity,
      preallocate,
      kernel: options.kernel,
      writeZeros: (offset, length) => this.#writer.zeroes(offset, length),
      readAt: (into, offset) => this.readAt(into, offset),
    });
  }

  begin(virtualSize: number | undefined): void {
    if (virtualSize !== undefined) this.#fits(virtualSize);
    this.#begun = true;
    this.#oldEnds = this.#ends().map(([offset, length]) => ({ offset, bytes: this.#readBefore(offset, length) }));
    this.#zeroEnds();
    // On the disk before any data is: a node that loses power now must not boot what was there before.
    this.flush();
  }

  writeAt(bytes: Uint8Array, offset: number): void {
    this.#writer.write(bytes, offset);
  }

  readAt(into: Uint8Array, offset: number): number {
    const wanted = into.subarray(0, Math.max(0, Math.min(into.length, this.capacity - offset)));
    const held = Math.max(0, Math.min(wanted.length, this.#head.length - offset));
    if (held > 0) wanted.set(this.#head.subarray(offset, offset + held));
    if (held === wanted.length) return held;
    try {
      return held + this.#readDevice(wanted.subarray(held), offset + held);
    } catch (error) {
      throw toTargetError(error, `read at ${offset} from`, this.name);
    }
  }

  nextData(offset: number): number {
    return offset;
  }

  zeroAt(offset: number, length: number): boolean {
    if (this.startsZeroed) return true;
    const held = Math.max(0, Math.min(length, this.#head.length - offset));
    this.#head.fill(0, offset, offset + held);
    if (held === length) return true;
    try {
      return this.#zeroing.zero(offset + held, length - held);
    } catch (error) {
      throw toTargetError(error, `zero ${length} bytes at ${offset} of`, this.name);
    }
  }

  resize(size: number): void {
    this.#fits(size);
  }

  flush(): void {
    try {
      fs.fsyncSync(this.#fd);
    } catch (error) {
      throw toTargetError(error, "flush", this.name);
    }
  }

  commit(): void {
    this.flush();
    const end = alignUp(this.#size ?? this.capacity, this.sectorSize);
    for (const { offset, bytes } of this.#oldEnds) {
      const behind = Math.max(0, end - offset);
      if (behind < bytes.length) this.#unheld.write(bytes.subarray(behind), offset + behind);
    }
    this.#unheld.write(this.#head.subarray(0, Math.min(this.#head.length, end)), 0);
    this.flush();
    this.#open = false;
    try {
      fs.closeSync(this.#fd);
    } catch (error) {
      throw toTargetError(error, "close", this.name);
    }
  }

  abort(): void {
    if (!this.#open) return;
    this.#open = false;
    try {
      if (this.#begun) {
        this.#zeroEnds();
        this.#zeroDiskTail();
        fs.fsyncSync(this.#fd);
      }
    } catch {
      // The device fails; its head was zeroed by begin and was not written since, unless in commit.
    }
    try {
      fs.closeSync(this.#fd);
    } catch {
      // nothing more can be done
    }
  }

  #zeroEnds(): void {
    for (const [offset, length] of this.#ends()) this.#unheld.zeroes(offset, length);
  }

  /** The device's first and last MiB. */
  #ends(): readonly (readonly [offset: number, length: number])[] {
    const tail = Math.max(this.#head.length, this.capacity - BOOT_AREA);
    return [
      [0, this.#head.length],
      [tail, this.capacity - tail],
    ];
  }

  #readBefore(offset: number, length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    try {
      return bytes.subarray(0, this.#readDevice(bytes, offset));
    } catch (error) {
      throw toTargetError(error, `read at ${offset} from`, this.name);
    }
  }

  /** A disk that is shorter than the device has its copy of a GPT at its own end. */
  #zeroDiskTail(): void {
    const end = Math.min(this.capacity, alignUp(this.#size ?? this.capacity, this.sectorSize));
    const start = Math.max(this.#head.length, end - BOOT_AREA);
    if (end > start) this.#unheld.zeroes(start, end - start);
  }

  #fits(size: number): void {
    this.#size = size;
    if (alignUp(size, this.sectorSize) <= this.capacity) return;
    throw new TargetError("TARGET_TOO_SMALL", `the disk has ${size} bytes and ${this.name} holds ${this.capacity}`, {
      remedy: "Choose a larger device.",
      context: { path: this.name, size, capacity: this.capacity },
    });
  }

  #readDevice(into: Uint8Array, offset: number): number {
    if (!this.#direct) return readFully(this.#fd, into, offset);
    // Unaligned memory cannot be read into through O_DIRECT.
    const fd = fs.openSync(`/proc/self/fd/${this.#fd}`, "r");
    try {
      return readFully(fd, into, offset);
    } finally {
      fs.closeSync(fd);
    }
  }
}

function busy(name: string, use: string, cause: unknown): TargetError {
  return new TargetError("TARGET_BUSY", `${name} is ${use}`, {
    remedy: "Unmount it, or stop what holds it (lsblk shows what).",
    context: { path: name },
    cause,
  });
}

function denied(name: string, cause: unknown): TargetError {
  const { uid, gid } = fs.statSync(name);
  return new TargetError("TARGET_DENIED", `no permission to write the device ${name}`, {
    remedy: `It belongs to user ${uid} and group ${gid}: run as one of them, or have its owner changed.`,
    context: { path: name, uid, gid },
    cause,
  });
}
