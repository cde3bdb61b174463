/**
 * Unpacks a tar that passes once into a folder, as `tar --preserve-permissions --no-same-owner -x` of an ordinary user would:
 * permissions (set-user-ID and its kin too) and times are the archive's, owners are not; a file that is there is replaced, a
 * folder that is there is used. Zeros become holes, whether the archive knew of them or not.
 *
 * Nothing is ever made outside of the folder (held-folder.ts), and no link on the way is followed. Where tar fails, this
 * fails, at the first entry: `..` in a name, devices. It also fails where tar would follow a link that the archive made.
 * Passed over with a warning are entries that nobody knows; tar makes files of them. Disk space, and what a filesystem can
 * hold, are the only limits of a file.
 */
import fs from "node:fs";
import { otherKind, readAttributes } from "../../formats/archives/tar/attributes.ts";
import { tar, tarEntries } from "../../formats/archives/tar/tar.ts";
import type { TarEntry } from "../../formats/archives/tar/tar.ts";
import { quoted } from "../../formats/archives/shown-names.ts";
import type { ByteStream } from "../../formats/byte-stream.ts";
import type { Need, Warning } from "../../formats/disk-format.ts";
import { FormatError } from "../../formats/errors.ts";
import { checkAnswer, checkNeed } from "../drive-parser.ts";
import { isZero } from "../engine/zero-search.ts";
import { errnoName, Interrupted, toTargetError } from "../errors.ts";
import type { Kernel } from "../kernel.ts";
import { StreamWindow } from "../stream-window.ts";
import { WRITE_BEHIND_WINDOW } from "../targets/write-behind.ts";
import { bytesOf, namesOf } from "./entry-path.ts";
import { FileWriter } from "./file-writer.ts";
import { FolderWalk } from "./folder-walk.ts";
import type { HeldFolder } from "./held-folder.ts";
import { ReadAhead } from "./read-ahead.ts";

export interface UnpackOptions {
  /** Path of the target folder, which exists. */
  readonly folder: string;
  /** Undefined: no kernel calls; then each file and folder is synced for itself, and a named pipe is refused. */
  readonly kernel: Kernel | undefined;
  readonly signal: AbortSignal;
}

/** What was unpacked. Bytes. */
export interface Unpacked {
  readonly entries: number;
  /** Of the contents of all files. */
  readonly contentLength: number;
  readonly bytesWritten: number;
  readonly warnings: readonly Warning[];
}

/** Headers of any kind. Nothing is kept of an entry that has gone by. */
const MAX_ENTRIES = 64 * 1024 * 1024;

/** The same thing is told so often. */
const MAX_WARNINGS = 20;

const HEAD_LENGTH = 512;

/**
 * Reads the stream to its end; all that was unpacked is on stable storage when this settles. After a failure what was
 * unpacked so far stays, as it does with tar.
 * @throws FormatError; TargetError; Interrupted; what the stream throws
 */
export async function unpackArchive(stream: ByteStream, options: UnpackOptions): Promise<Unpacked> {
  const unpacker = new Unpacker(new StreamWindow(new ReadAhead(stream)), options);
  try {
    return await unpacker.run();
  } finally {
    unpacker.close();
  }
}

class Unpacker {
  readonly #window: StreamWindow;
  readonly #options: UnpackOptions;
  readonly #walk: FolderWalk;
  readonly #writer: FileWriter;
  readonly #warnings: Warning[] = [];
  #entries = 0;
  #contentLength = 0;
  /** Of files too small to have a write-behind of their own. */
  #dirty = 0;

  constructor(window: StreamWindow, options: UnpackOptions) {
    this.#window = window;
    this.#options = options;
    this.#walk = new FolderWalk({ root: options.folder, syncs: options.kernel === undefined });
    this.#writer = new FileWriter(window, options.kernel !== undefined);
  }

  async run(): Promise<Unpacked> {
    await this.#checkHead();
    const entries = tarEntries(MAX_ENTRIES);
    let step = entries.next();
    while (step.done !== true) {
      if (this.#options.signal.aborted) throw new Interrupted();
      const { value } = step;
      if ("kind" in value) {
        await this.#unpack(value);
        step = entries.next();
      } else {
        step = entries.next(await this.#answer(value));
      }
    }
    await this.#window.drain();
    this.#finish();
    return {
      entries: this.#entries,
      contentLength: this.#contentLength,
      bytesWritten: this.#writer.bytesWritten,
      warnings: this.#warnings,
    };
  }

  close(): void {
    this.#walk.close();
  }

  /** Else the message would be of a checksum that is wrong. */
  async #checkHead(): Promise<void> {
    const head = await this.#window.peek(0, HEAD_LENGTH);
    if (tar.probe(head) || isZero(head)) return;
    throw new FormatError("FORMAT_UNRECOGNISED", "this does not look like a tar archive", {
      remedy: "Give a tar, plain or compressed with gzip, xz or zstd; or ask for a disk in the place of an archive.",
    });
  }

  async #answer(need: Need): Promise<Uint8Array> {
    checkNeed(need);
    const bytes = await this.#window.peek(need.offset, need.length);
    checkAnswer(need, bytes.length);
    return bytes;
  }

  async #unpack(entry: TarEntry): Promise<void> {
    this.#entries += 1;
    try {
      await this.#unpackKind(entry);
    } catch (error) {
      // Of ours already, or of the stream; what is left is the file system's.
      if (errnoName(error) === undefined) throw error;
      throw toTargetError(error, "unpack", quoted(entry.name));
    }
  }

  async #unpackKind(entry: TarEntry): Promise<void> {
    if (entry.kind === "file") await this.#makeFile(entry);
    else if (entry.kind === "folder") this.#walk.makeFolder(namesOf(entry.name), readAttributes(entry));
    else if (entry.kind === "symbolic-link") this.#makeSymbolicLink(entry);
    else if (entry.kind === "hard-link") this.#makeHardLink(entry);
    else this.#makeOther(entry);
  }

  async #makeFile(entry: TarEntry): Promise<void> {
    const attributes = readAttributes(entry);
    const { parent, name } = this.#place(entry);
    const fd = createFile(parent, name);
    try {
      const written = await this.#writer.write(fd, entry);
      fs.fchmodSync(fd, attributes.mode);
      if (attributes.modifiedAt !== undefined) fs.futimesSync(fd, attributes.modifiedAt, attributes.modifiedAt);
      this.#contentLength += entry.size;
      this.#settle(fd, written);
    } finally {
      fs.closeSync(fd);
    }
  }

  /** Thousands of small files would else fill the page cache. */
  #settle(fd: number, written: number): void {
    const { kernel } = this.#options;
    if (kernel === undefined) {
      fs.fsyncSync(fd);
      return;
    }
    if (written < WRITE_BEHIND_WINDOW) this.#dirty += written;
    if (this.#dirty < WRITE_BEHIND_WINDOW) return;
    this.#dirty = 0;
    this.#walk.root.syncFilesystem(kernel);
  }

  #makeSymbolicLink(entry: TarEntry): void {
    const target = bytesOf(entry.link);
    if (target.length === 0 || target.includes(0)) {
      throw new FormatError("FORMAT_CORRUPT", `the link ${quoted(entry.name)} leads nowhere`);
    }
    const { parent, name } = this.#place(entry);
    parent.remove(name);
    parent.createSymbolicLink(name, target);
    parent.setAttributesOf(name, readAttributes(entry));
  }

  /** To what the archive has unpacked before, or what is there; in the folder in any case. */
  #makeHardLink(entry: TarEntry): void {
    const [fromName, fromFolder] = lastOf(namesOf(entry.link), entry);
    const { parent, name } = this.#place(entry);
    this.#walk.visit(fromFolder, (from) => {
      const found = from.stat(fromName);
      if (found === undefined || found.isDirectory()) {
        const what = `the hard link ${quoted(entry.name)} is to ${quoted(entry.link)}, which is no file here`;
        throw new FormatError("FORMAT_CORRUPT", what);
      }
      const old = parent.stat(name);
      // A link to itself: removing what is in its place would lose the file.
      if (old !== undefined && old.ino === found.ino && old.dev === found.dev) return;
      parent.remove(name);
      parent.createHardLink(name, from, fromName);
    });
  }

  #makeOther(entry: TarEntry): void {
    const kind = otherKind(entry);
    if (kind === "folder") this.#walk.makeFolder(namesOf(entry.name), readAttributes(entry));
    else if (kind === "pipe") this.#makePipe(entry);
    else if (kind === "character-device" || kind === "block-device") throw isDevice(entry);
    else if (kind === undefined) this.#warn(`the entry ${quoted(entry.name)} is of no known kind, and was passed over`);
  }

  #makePipe(entry: TarEntry): void {
    const { kernel } = this.#options;
    if (kernel === undefined) {
      throw new FormatError("FORMAT_UNSUPPORTED", `the archive holds the named pipe ${quoted(entry.name)}`, {
        remedy: "Making one needs the package koffi.",
      });
    }
    const { parent, name } = this.#place(entry);
    parent.remove(name);
    parent.createPipe(name, kernel);
    parent.setAttributesOf(name, readAttributes(entry));
  }

  #place(entry: TarEntry): { readonly parent: HeldFolder; readonly name: Uint8Array } {
    const [name, folder] = lastOf(namesOf(entry.name), entry);
    return { parent: this.#walk.goTo(folder), name };
  }

  #finish(): void {
    const { folder, kernel } = this.#options;
    try {
      this.#walk.leaveAll();
      for (const name of this.#walk.keptFolders) {
        this.#warn(`the folder ${quoted(name)} belongs to somebody else, and keeps its permissions and time`);
      }
      if (kernel !== undefined) this.#walk.root.syncFilesystem(kernel);
    } catch (error) {
      throw toTargetError(error, "finish", folder);
    }
  }

  #warn(message: string): void {
    if (this.#warnings.length < MAX_WARNINGS) this.#warnings.push({ code: "ARCHIVE_NOTE", message });
  }
}

/** Most are new: whether there is something in its place is not asked before. */
function createFile(parent: HeldFolder, name: Uint8Array): number {
  try {
    return parent.createFile(name);
  } catch (error) {
    if (errnoName(error) !== "EEXIST") throw error;
    parent.remove(name);
    return parent.createFile(name);
  }
}

function lastOf(names: readonly string[], entry: TarEntry): [name: Uint8Array, folder: readonly string[]] {
  const last = names.at(-1);
  if (last === undefined) throw new FormatError("FORMAT_CORRUPT", `the entry ${quoted(entry.name)} has no name`);
  return [bytesOf(last), names.slice(0, -1)];
}

function isDevice(entry: TarEntry): FormatError {
  return new FormatError("FORMAT_UNSUPPORTED", `the archive holds the device ${quoted(entry.name)}`, {
    remedy: "Only root may make one, and a disk's data needs none; pack the archive without it.",
  });
}
