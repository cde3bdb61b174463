/**
 * Kernel calls that Node.js lacks, over koffi and the C library.
 *
 * koffi is native and optional, and is loaded when `loadKernel` is first called, in each thread for itself. Where it or glibc
 * is missing there is no kernel, and callers do with writes and truncation. A call answers with the name of an error number
 * (`EOPNOTSUPP`) or undefined for success: "cannot here" is a value, and callers decide what is a failure.
 * Every call is retried after a signal. Offsets and lengths are bytes.
 */
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";

/** The name of an error number, `ENOSPC` for instance. */
export type Errno = string;

/**
 * The modes of fallocate. `allocate` reserves space and grows the file; the others keep its size. `punch-hole` and
 * `zero-range` promise that the range reads as zeros; a device may unmap the first and keeps the second mapped.
 */
export type FallocateMode = "allocate" | "keep-size" | "punch-hole" | "zero-range";

export interface DeviceGeometry {
  /** Bytes. */
  readonly size: number;
  /** Bytes; what a write must be a multiple of. */
  readonly logicalSectorSize: number;
  readonly physicalSectorSize: number;
}

export interface Kernel {
  fallocate(fd: number, mode: FallocateMode, offset: number, length: number): Errno | undefined;
  /** Makes a device's range read as zeros; the kernel writes them where the device has no command for it. Unmaps nothing. */
  blockZeroOut(fd: number, offset: number, length: number): Errno | undefined;
  /** Tells a device that a range is not needed. What it reads as afterwards is the device's choice. */
  blockDiscard(fd: number, offset: number, length: number): Errno | undefined;
  deviceGeometry(fd: number): DeviceGeometry | Errno;
  /** Waits for pages that are on their way to the disk, then starts to write all dirty ones, and does not wait for those. */
  waitAndStartWriteback(fd: number): Errno | undefined;
  /** Drops the file's clean pages from the cache. */
  dropCleanPages(fd: number): Errno | undefined;
  /**
   * The first data (or hole) at or after `offset`; moves the descriptor's position. At the end of the file, or where
   * nothing but a hole follows, ENXIO.
   */
  seek(fd: number, what: "data" | "hole", offset: number): number | Errno;
  /** An exclusive lock on the open file, without waiting. EWOULDBLOCK (as EAGAIN): somebody else has it. */
  lock(fd: number): Errno | undefined;
  /** Everything that was written to the filesystem of this descriptor is on stable storage when this returns. */
  syncFilesystem(fd: number): Errno | undefined;
  /** Makes a named pipe. @param path bytes, without the NUL at their end */
  makePipe(path: Uint8Array, mode: number): Errno | undefined;
  /** The address of the first byte, as long as somebody holds the buffer: V8 does not move array buffers. */
  address(bytes: Uint8Array): bigint;
  /** _exit(2): ends the process at once, where exit() would wait for a thread whose read may never return. */
  exitNow(status: number): void;
}

// linux/falloc.h
const FALLOC_FL_KEEP_SIZE = 0x01;
const FALLOC_FL_PUNCH_HOLE = 0x02;
const FALLOC_FL_ZERO_RANGE = 0x10;

const FALLOCATE_MODES: Readonly<Record<FallocateMode, number>> = {
  allocate: 0,
  "keep-size": FALLOC_FL_KEEP_SIZE,
  "punch-hole": FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
  "zero-range": FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE,
};

// linux/fs.h; the same numbers on x86-64 and arm64
const BLKSSZGET = 0x1268;
const BLKDISCARD = 0x1277;
const BLKPBSZGET = 0x127b;
const BLKZEROOUT = 0x127f;
const BLKGETSIZE64 = 0x80081272;

// linux/fs.h, sync_file_range
const SYNC_FILE_RANGE_WAIT_BEFORE = 1;
const SYNC_FILE_RANGE_WRITE = 2;

const POSIX_FADV_DONTNEED = 4; // linux/fadvise.h

// linux/fs.h, lseek
const SEEK_DATA = 3;
const SEEK_HOLE = 4;

const LOCK_EX_NB = 2 | 4; // asm-generic/fcntl.h, flock

/** sysfs counts a device's size in these, whatever its sector. */
const SYSFS_SECTOR = 512;

/** Error numbers that mean "not here": by the filesystem, the device, the kernel's version, or a container's filter. */
const UNSUPPORTED: readonly Errno[] = ["EOPNOTSUPP", "ENOTSUP", "ENOSYS", "EINVAL", "ENOTTY", "ESPIPE", "EPERM"];

export function isUnsupported(errno: Errno): boolean {
  return UNSUPPORTED.includes(errno);
}

/** An error as node:fs throws it, for what a call answered. */
export function kernelError(errno: Errno, call: string): Error {
  return Object.assign(new Error(`${errno}: ${call}`), { code: errno, syscall: call });
}

let loaded: { readonly kernel: Kernel | undefined } | undefined;

/** The kernel calls; undefined without koffi or glibc. Loads them on the first call: 19 ms (Node.js 24, x86-64). */
export function loadKernel(): Kernel | undefined {
  loaded ??= { kernel: openKernel() };
  return loaded.kernel;
}

/**
 * Bytes of an open block device, from the kernel or, without koffi, from sysfs.
 * @param rdev as fs.Stats has it
 * @throws Error where neither tells
 */
export function deviceSize(fd: number, rdev: number): number {
  return deviceGeometry(fd, rdev, loadKernel()).size;
}

/** As `deviceSize`, and the sectors. */
export function deviceGeometry(fd: number, rdev: number, kernel: Kernel | undefined): DeviceGeometry {
  const known = kernel?.deviceGeometry(fd);
  if (typeof known === "object") return known;
  const folder = deviceFolder(rdev);
  // A partition has no queue of its own.
  const queue = fs.existsSync(`${folder}/queue`) ? `${folder}/queue` : `${folder}/../queue`;
  return {
    size: readNumber(`${folder}/size`) * SYSFS_SECTOR,
    logicalSectorSize: readNumber(`${queue}/logical_block_size`),
    physicalSectorSize: readNumber(`${queue}/physical_block_size`),
  };
}

/** Where sysfs describes a block device. @param rdev as fs.Stats has it (glibc's makedev) */
export function deviceFolder(rdev: number): string {
  return `/sys/dev/block/${deviceNumber(rdev)}`;
}

/** `major:minor`. @param rdev as fs.Stats has it (glibc's makedev) */
export function deviceNumber(rdev: number): string {
  const bits = BigInt(rdev);
  const major = ((bits >> 8n) & 0xfffn) | ((bits >> 32n) & 0xfffff000n);
  const minor = (bits & 0xffn) | ((bits >> 12n) & 0xffffff00n);
  return `${major}:${minor}`;
}

function readNumber(file: string): number {
  const value = Number(fs.readFileSync(file, "latin1"));
  if (!Number.isSafeInteger(value)) throw new Error(`${file} holds no number`);
  return value;
}

type NativeFunction = (...args: (number | bigint | Uint8Array)[]) => number;

interface Koffi {
  load(library: string): { func(declaration: string): NativeFunction };
  errno(): number;
  address(bytes: Uint8Array): bigint;
}

function openKernel(): Kernel | undefined {
  try {
    return bindCalls(createRequire(import.meta.url)("koffi") as Koffi);
  } catch {
    return undefined; // koffi is not installed, or there is no glibc
  }
}

function bindCalls(koffi: Koffi): Kernel {
  const libc = koffi.load("libc.so.6");
  const fallocate = libc.func("int fallocate(int fd, int mode, int64_t offset, int64_t length)");
  const ioctl = libc.func("int ioctl(int fd, unsigned long request, _Inout_ uint8_t *argument)");
  const syncFileRange = libc.func("int sync_file_range(int fd, int64_t offset, int64_t length, unsigned int flags)");
  const fadvise = libc.func("int posix_fadvise(int fd, int64_t offset, int64_t length, int advice)");
  const lseek = libc.func("int64_t lseek(int fd, int64_t offset, int whence)");
  const _exit = libc.func("void _exit(int status)");
  const flock = libc.func("int flock(int fd, int operation)");
  const syncfs = libc.func("int syncfs(int fd)");
  const mkfifo = libc.func("int mkfifo(const uint8_t *path, uint32_t mode)");

  /** Calls until no signal comes between. The answer, or the error's name. */
  function retried(call: () => number): number | Errno {
    for (;;) {
      const answer = call();
      if (answer >= 0) return answer;
      const errno = errnoOf(koffi.errno());
      if (errno !== "EINTR") return errno;
    }
  }
  function failure(call: () => number): Errno | undefined {
    const answer = retried(call);
    return typeof answer === "string" ? answer : undefined;
  }
  function rangeIoctl(fd: number, request: number, offset: number, length: number): Errno | undefined {
    const range = new BigUint64Array([BigInt(offset), BigInt(length)]);
    return failure(() => ioctl(fd, request, new Uint8Array(range.buffer)));
  }
  function askIoctl(fd: number, request: number): number | Errno {
    const value = new BigUint64Array(1);
    return failure(() => ioctl(fd, request, new Uint8Array(value.buffer))) ?? Number(value[0]);
  }

  return {
    fallocate: (fd, mode, offset, length) => failure(() => fallocate(fd, FALLOCATE_MODES[mode], offset, length)),
    blockZeroOut: (fd, offset, length) => rangeIoctl(fd, BLKZEROOUT, offset, length),
    blockDiscard: (fd, offset, length) => rangeIoctl(fd, BLKDISCARD, offset, length),
    deviceGeometry(fd) {
      const size = askIoctl(fd, BLKGETSIZE64);
      const logicalSectorSize = askIoctl(fd, BLKSSZGET);
      const physicalSectorSize = askIoctl(fd, BLKPBSZGET);
      if (typeof size === "string") return size;
      if (typeof logicalSectorSize === "string") return logicalSectorSize;
      if (typeof physicalSectorSize === "string") return physicalSectorSize;
      return { size, logicalSectorSize, physicalSectorSize };
    },
    waitAndStartWriteback: (fd) =>
      failure(() => syncFileRange(fd, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE)), // 0, 0: the whole file
    dropCleanPages(fd) {
      const number = fadvise(fd, 0, 0, POSIX_FADV_DONTNEED); // answers with the error number itself
      return number === 0 ? undefined : errnoOf(number);
    },
    seek: (fd, what, offset) => retried(() => lseek(fd, offset, what === "data" ? SEEK_DATA : SEEK_HOLE)),
    lock: (fd) => failure(() => flock(fd, LOCK_EX_NB)),
    syncFilesystem: (fd) => failure(() => syncfs(fd)),
    makePipe: (path, mode) => failure(() => mkfifo(Buffer.concat([path, Buffer.of(0)]), mode)),
    address: (bytes) => koffi.address(bytes),
    exitNow: (status) => void _exit(status),
  };
}

function errnoOf(number: number): Errno {
  for (const [name, value] of Object.entries(os.constants.errno)) if (value === number) return name;
  return `E${number}`;
}
