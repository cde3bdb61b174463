/**
 * A file as a target. It is written under a hidden name and gets its own name at commit; a file that it replaces stays until
 * then. It starts as one hole, so zeros are not written unless preallocation asks for them.
 *
 * O_DIRECT is used if asked for and possible. Then the file is written in blocks of 4096 bytes and may for a while be longer
 * than the disk; `resize` and `commit` cut it.
 */
import fs from "node:fs";
import path from "node:path";
import { canAlignBuffers } from "../direct-io.ts";
import { errnoName, TargetError, toTargetError, UsageError } from "../errors.ts";
import { isUnsupported, kernelError } from "../kernel.ts";
import type { Kernel } from "../kernel.ts";
import { createPartial, leadsTo, partialPath } from "./partial-file.ts";
import { PositionedWriter, readFully } from "./positioned-writer.ts";
import type { WriterSpec } from "./positioned-writer.ts";
import { allocateLocks } from "./shared-locks.ts";
import type { Preallocation, Target } from "./target.ts";
import { writeBehindSpec } from "./write-behind.ts";

export interface FileOptions {
  readonly preallocate: Preallocation;
  /** Replace the file that has the name at commit. */
  readonly force: boolean;
  readonly direct: boolean;
  /** Of the finished file. */
  readonly mode: number;
  /** Who the finished file should belong to; tried, not enforced. */
  readonly owner: { readonly uid: number; readonly gid: number } | undefined;
  /** Undefined: no kernel calls. */
  readonly kernel: Kernel | undefined;
}

/** What O_DIRECT writes to a file are multiples of: no disk has larger sectors. */
const DIRECT_BLOCK = 4096;

/**
 * Creates the partial file beside `place`, whose folder exists.
 * @param name  as it is shown
 * @param place absolute path that the disk gets at commit
 * @throws TargetError TARGET_BUSY, TARGET_DENIED, TARGET_NO_SPACE
 */
export function openFileTarget(name: string, place: string, options: FileOptions): Target {
  const notes: string[] = [];
  const partial = partialPath(place);
  const direct = options.direct && directNote(notes);
  try {
    refuseFolder(name, place);
    const { fd, isDirect } = openPartial(partial, direct, options.kernel);
    if (direct && !isDirect)
      notes.push(`the filesystem of ${name} refuses O_DIRECT, so it is written through the page cache`);
    return new FileTarget({ name, place, partial, fd }, { ...options, direct: isDirect }, notes);
  } catch (error) {
    throw toTargetError(error, "create", name);
  }
}

/** It could not be replaced, and that would be found out when all is written. */
function refuseFolder(name: string, place: string): void {
  if (fs.lstatSync(place, { throwIfNoEntry: false })?.isDirectory() !== true) return;
  throw new TargetError("TARGET_DENIED", `${name} is a folder, and the disk is to have its name`, {
    remedy: "Remove it.",
    context: { path: name },
  });
}

function directNote(notes: string[]): boolean {
  if (canAlignBuffers()) return true;
  notes.push("O_DIRECT needs the package @ronomon/direct-io, which is not installed; writing through the page cache");
  return false;
}

function openPartial(partial: string, direct: boolean, kernel: Kernel | undefined): { fd: number; isDirect: boolean } {
  if (direct) {
    try {
      return { fd: createPartial(partial, kernel, fs.constants.O_DIRECT), isDirect: true };
    } catch (error) {
      if (errnoName(error) !== "EINVAL") throw error;
      fs.rmSync(partial, { force: true }); // a kernel may create the file before it finds that it cannot be direct
    }
  }
  return { fd: createPartial(partial, kernel), isDirect: false };
}

interface OpenFile {
  readonly name: string;
  readonly place: string;
  readonly partial: string;
  readonly fd: number;
}

class FileTarget implements Target {
  readonly kind = "file";
  readonly name: string;
  readonly sectorSize = 1;
  readonly capacity = undefined;
  readonly writer: WriterSpec;
  readonly notes: string[];
  readonly #place: string;
  readonly #partial: string;
  readonly #options: FileOptions;
  readonly #fd: number;
  readonly #writer: PositionedWriter;
  #startsZeroed: boolean;
  #reserved = 0;
  #size: number | undefined;
  #open = true;

  constructor({ name, place, partial, fd }: OpenFile, options: FileOptions, notes: string[]) {
    this.name = name;
    this.notes = notes;
    this.#place = place;
    this.#partial = partial;
    this.#options = options;
    this.#fd = fd;
    this.#startsZeroed = options.preallocate !== "full";
    this.writer = {
      fd,
      name,
      sectorSize: options.direct ? DIRECT_BLOCK : 1,
      capacity: undefined,
      direct: options.direct,
      heldHead: undefined,
      locks: allocateLocks(),
      writeBehind: options.direct ? undefined : writeBehindSpec(fd, options.kernel !== undefined),
    };
    this.#writer = new PositionedWriter(this.writer);
  }

  get startsZeroed(): boolean {
    return this.#startsZeroed;
  }

  begin(virtualSize: number | undefined): void {
    if (virtualSize === undefined) return; // a stream's end will tell; resize does the rest
    this.#setLength(virtualSize);
    this.#reserve(virtualSize);
  }

  writeAt(bytes: Uint8Array, offset: number): void {
    this.#writer.write(bytes, offset);
  }

  readAt(into: Uint8Array, offset: number): number {
    try {
      if (!this.#options.direct) return readFully(this.#fd, into, offset);
      // Unaligned memory cannot be read into through O_DIRECT.
      const fd = fs.openSync(this.#partial, "r");
      try {
        return readFully(fd, into, offset);
      } finally {
        fs.closeSync(fd);
      }
    } catch (error) {
      throw toTargetError(error, `read at ${offset} from`, this.name);
    }
  }

  nextData(offset: number): number {
    const next = this.#options.kernel?.seek(this.#fd, "data", offset);
    if (next === "ENXIO") return Infinity;
    return typeof next === "number" ? next : offset;
  }

  zeroAt(): boolean {
    return this.#startsZeroed;
  }

  resize(size: number): void {
    this.#setLength(size);
    this.#reserve(size);
  }

  flush(): void {
    this.#try("flush", () => fs.fsyncSync(this.#fd));
  }

  commit(): void {
    this.#try("finish", () => {
      if (this.#size !== undefined) fs.ftruncateSync(this.#fd, this.#size);
      this.#adopt();
      fs.fsyncSync(this.#fd);
      this.#rename();
      // From here on the disk is whole and in its place: abort must not touch it.
      this.#open = false;
      syncFolder(path.dirname(this.#place));
      fs.closeSync(this.#fd);
    });
  }

  abort(): void {
    if (!this.#open) return;
    this.#open = false;
    try {
      if (leadsTo(this.#partial, this.#fd)) fs.unlinkSync(this.#partial);
    } catch {
      // The hidden name is found and removed by the next run.
    }
    try {
      fs.closeSync(this.#fd);
    } catch {
      // What could not be written was given up anyway.
    }
  }

  #setLength(size: number): void {
    try {
      fs.ftruncateSync(this.#fd, size);
    } catch (error) {
      throw toTargetError(error, `make a disk of ${size} bytes in`, this.name);
    }
    this.#size = size;
  }

  /** Preallocation for what the disk has become longer by. */
  #reserve(size: number): void {
    const { preallocate } = this.#options;
    if (preallocate === "off" || size <= this.#reserved) return;
    this.#checkSpace(size);
    this.#reserved = size;
    if (preallocate === "full" || !this.#startsZeroed) return;
    const errno =
      this.#options.kernel === undefined ? "ENOSYS" : this.#options.kernel.fallocate(this.#fd, "allocate", 0, size);
    if (errno === undefined) return;
    if (!isUnsupported(errno))
      throw toTargetError(kernelError(errno, "fallocate"), `reserve ${size} bytes for`, this.name);
    this.notes.push(`space for ${this.name} cannot be reserved here, so zeros are written`);
    this.#startsZeroed = false;
  }

  #checkSpace(size: number): void {
    const allocated = fs.fstatSync(this.#fd).blocks * 512;
    const { bavail, bsize } = fs.statfsSync(path.dirname(this.#place));
    const free = bavail * bsize;
    if (size - allocated <= free) return;
    throw new TargetError("TARGET_NO_SPACE", `${this.name} needs ${size} bytes, and its filesystem has ${free} left`, {
      remedy: "Free space, choose a target on a larger filesystem, or do without --preallocate.",
      context: { path: this.name, size, free },
    });
  }

  #adopt(): void {
    const { mode, owner } = this.#options;
    if (owner !== undefined) {
      try {
        fs.fchownSync(this.#fd, owner.uid, owner.gid);
      } catch {
        // Only root gives files away; the disk is then its maker's, as a new file would be.
      }
    }
    fs.fchmodSync(this.#fd, mode);
  }

  #rename(): void {
    if (this.#options.force) {
      fs.renameSync(this.#partial, this.#place);
      return;
    }
    // A link, because rename would replace a file that came meanwhile.
    try {
      fs.linkSync(this.#partial, this.#place);
    } catch (error) {
      if (errnoName(error) === "EEXIST") throw targetExists(this.name, error);
      // A filesystem without hard links.
      if (fs.existsSync(this.#place)) throw targetExists(this.name, error);
      fs.renameSync(this.#partial, this.#place);
      return;
    }
    fs.unlinkSync(this.#partial);
  }

  #try(doing: string, action: () => void): void {
    try {
      action();
    } catch (error) {
      if (error instanceof UsageError) throw error;
      throw toTargetError(error, doing, this.name);
    }
  }
}

export function targetExists(name: string, cause?: unknown): UsageError {
  return new UsageError(`${name} exists`, { remedy: "Use --force to replace it.", context: { path: name }, cause });
}

function syncFolder(folder: string): void {
  const fd = fs.openSync(folder, "r");
  try {
    fs.fsyncSync(fd);
  } catch (error) {
    if (errnoName(error) !== "EINVAL") throw error; // some filesystems in user space cannot
  } finally {
    fs.closeSync(fd);
  }
}
