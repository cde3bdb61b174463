/**
 * A folder held open, and what is in it by one name at a time: openat(2) and its kin, as Node.js has them not.
 *
 * `/proc/self/fd/N/name` is looked up in the open folder itself, wherever it was moved to or whatever took its name. As no
 * name has a slash in it and no link is followed, nothing that is done here happens outside of the folder, whatever is in
 * the volume already and whoever changes it meanwhile. Names are bytes.
 */
import fs from "node:fs";
import { errnoName } from "../errors.ts";
import { kernelError } from "../kernel.ts";
import type { Kernel } from "../kernel.ts";

// asm-generic/fcntl.h, the same on x86-64 and arm64: a place in the tree, for which no permission to read is needed
const O_PATH = 0o10000000;

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_RDONLY, O_WRONLY } = fs.constants;

const SLASH = 0x2f;

/** Until all is in them; the archive's own permissions may not even allow that. */
const NEW_FOLDER_MODE = 0o700;
const NEW_FILE_MODE = 0o600;

/** All that its umask leaves. */
const IMPLIED_FOLDER_MODE = 0o777;

export interface Attributes {
  readonly mode: number;
  /** Seconds since 1970; undefined: stays as it is. */
  readonly modifiedAt: number | undefined;
}

export class HeldFolder {
  readonly #fd: number;

  private constructor(fd: number) {
    this.#fd = fd;
  }

  /** The folder at `path`, links followed. @throws as node:fs does */
  static open(path: string): HeldFolder {
    return new HeldFolder(fs.openSync(path, O_PATH | O_DIRECTORY));
  }

  /** Undefined: there is nothing of that name. A link is no folder. @throws ENOTDIR */
  enter(name: Uint8Array): HeldFolder | undefined {
    try {
      return new HeldFolder(fs.openSync(this.#place(name), O_PATH | O_DIRECTORY | O_NOFOLLOW));
    } catch (error) {
      if (errnoName(error) === "ENOENT") return undefined;
      throw error;
    }
  }

  /** @param isImplied it has no entry of its own that would say its permissions */
  makeFolder(name: Uint8Array, isImplied: boolean): void {
    fs.mkdirSync(this.#place(name), isImplied ? IMPLIED_FOLDER_MODE : NEW_FOLDER_MODE);
  }

  /** Of a link, the link. */
  stat(name: Uint8Array): fs.Stats | undefined {
    return fs.lstatSync(this.#place(name), { throwIfNoEntry: false });
  }

  /** Whatever has the name: a file, a link, an empty folder. Nothing is fine too. @throws ENOTEMPTY */
  remove(name: Uint8Array): void {
    const found = this.stat(name);
    if (found === undefined) return;
    if (found.isDirectory()) fs.rmdirSync(this.#place(name));
    else fs.unlinkSync(this.#place(name));
  }

  /** A new file, to write. @returns its descriptor @throws EEXIST, for a link too */
  createFile(name: Uint8Array): number {
    return fs.openSync(this.#place(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, NEW_FILE_MODE);
  }

  /** @param target any bytes; nothing is done with them but keep them */
  createSymbolicLink(name: Uint8Array, target: Uint8Array): void {
    fs.symlinkSync(Buffer.from(target), this.#place(name));
  }

  /** Another name for `fromName` of `from`; of a link, the link. */
  createHardLink(name: Uint8Array, from: HeldFolder, fromName: Uint8Array): void {
    fs.linkSync(from.#place(fromName), this.#place(name));
  }

  createPipe(name: Uint8Array, kernel: Kernel): void {
    const errno = kernel.makePipe(this.#place(name), NEW_FILE_MODE);
    if (errno !== undefined) throw kernelError(errno, "mkfifo");
  }

  /** Of something in it; of a link only the time. */
  setAttributesOf(name: Uint8Array, { mode, modifiedAt }: Attributes): void {
    const place = this.#place(name);
    if (fs.lstatSync(place).isSymbolicLink()) {
      if (modifiedAt !== undefined) fs.lutimesSync(place, modifiedAt, modifiedAt);
      return;
    }
    fs.chmodSync(place, mode);
    if (modifiedAt !== undefined) fs.utimesSync(place, modifiedAt, modifiedAt);
  }

  /** Of the folder itself. */
  setAttributes({ mode, modifiedAt }: Attributes): void {
    fs.chmodSync(this.#self, mode);
    if (modifiedAt !== undefined) fs.utimesSync(this.#self, modifiedAt, modifiedAt);
  }

  /** Its names, once they are read. */
  list(): Buffer[] {
    return fs.readdirSync(this.#self, { encoding: "buffer" });
  }

  /** Its names are on stable storage when this returns. */
  sync(): void {
    this.#withDescriptor((fd) => fs.fsyncSync(fd));
  }

  /** All that is on its filesystem is on stable storage when this returns. */
  syncFilesystem(kernel: Kernel): void {
    this.#withDescriptor((fd) => {
      const errno = kernel.syncFilesystem(fd);
      if (errno !== undefined) throw kernelError(errno, "syncfs");
    });
  }

  close(): void {
    fs.closeSync(this.#fd);
  }

  get #self(): string {
    return `/proc/self/fd/${this.#fd}`;
  }

  /** O_PATH is no descriptor for either kind of sync. */
  #withDescriptor(use: (fd: number) => void): void {
    const fd = fs.openSync(this.#self, O_RDONLY | O_DIRECTORY);
    try {
      use(fd);
    } finally {
      fs.closeSync(fd);
    }
  }

  #place(name: Uint8Array): Buffer {
    if (name.length === 0 || name.includes(SLASH) || name.includes(0) || isDots(name)) {
      throw new Error("not the name of anything in a folder");
    }
    return Buffer.concat([Buffer.from(`${this.#self}/`), name]);
  }
}

/** `.` and `..`, which are other folders. */
function isDots(name: Uint8Array): boolean {
  return name.length <= 2 && name.every((byte) => byte === 0x2e);
}
