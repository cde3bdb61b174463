/**
 * Where in the tree an archive is: the folders from the target down to the present one, all held open.
 *
 * An archive lists a folder before what is in it. So a folder gets its permissions and time when the archive goes on
 * elsewhere, as tar does it: before that they might not let anything be put into it, and its time would change.
 */
import { quoted } from "../../formats/archives/shown-names.ts";
import { FormatError } from "../../formats/errors.ts";
import { errnoName, toTargetError } from "../errors.ts";
import { bytesOf } from "./entry-path.ts";
import { HeldFolder } from "./held-folder.ts";
import type { Attributes } from "./held-folder.ts";

interface Level {
  readonly name: string;
  readonly folder: HeldFolder;
  attributes: Attributes | undefined;
}

export interface FolderWalkOptions {
  /** Path of the target folder, which exists. */
  readonly root: string;
  /** Each folder is synced when it is left. */
  readonly syncs: boolean;
}

export class FolderWalk {
  readonly root: HeldFolder;
  /** Folders of others, which keep their permissions. */
  readonly keptFolders = new Set<string>();
  readonly #options: FolderWalkOptions;
  readonly #levels: Level[] = [];

  /** @throws TargetError */
  constructor(options: FolderWalkOptions) {
    this.#options = options;
    try {
      this.root = HeldFolder.open(options.root);
    } catch (error) {
      throw toTargetError(error, "open the folder", options.root);
    }
    this.#levels.push({ name: "", folder: this.root, attributes: undefined });
  }

  /**
   * Goes to a folder, and makes those that are missing.
   * @param names from the target folder down
   * @throws FormatError FORMAT_UNSUPPORTED where a link or a file is in the way; as node:fs does
   */
  goTo(names: readonly string[]): HeldFolder {
    this.#leaveAllBut(names);
    let { folder } = this.#last;
    for (const name of names.slice(this.#levels.length - 1)) {
      folder = enterOrMake(folder, name);
      this.#levels.push({ name, folder, attributes: undefined });
    }
    return folder;
  }

  /** Goes to a folder that has an entry of its own; what is in its place and no folder is removed, as tar does. */
  makeFolder(names: readonly string[], attributes: Attributes): void {
    const name = names.at(-1);
    if (name !== undefined && !this.#isAt(names)) {
      const parent = this.goTo(names.slice(0, -1));
      const found = parent.stat(bytesOf(name));
      if (found?.isDirectory() === false) parent.remove(bytesOf(name));
      if (found?.isDirectory() !== true) parent.makeFolder(bytesOf(name), false);
    }
    this.goTo(names);
    this.#last.attributes = attributes;
  }

  /**
   * Calls `use` with a folder that may be elsewhere in the tree, without going there.
   * @throws FormatError FORMAT_UNSUPPORTED where there is no such folder; what `use` throws
   */
  visit<T>(names: readonly string[], use: (folder: HeldFolder) => T): T {
    const entered: HeldFolder[] = [];
    try {
      let folder = this.root;
      for (const name of names) {
        folder = enter(folder, name) ?? missing(name);
        entered.push(folder);
      }
      return use(folder);
    } finally {
      for (const folder of entered) folder.close();
    }
  }

  /** Every folder has its permissions and time afterwards. What remains is `root`. */
  leaveAll(): void {
    this.#leaveAllBut([]);
    this.#settle(this.#last);
  }

  /** Closes all, and changes nothing more. */
  close(): void {
    for (const { folder } of this.#levels.splice(0)) folder.close();
  }

  get #last(): Level {
    const last = this.#levels.at(-1);
    if (last === undefined) throw new Error("the walk has ended");
    return last;
  }

  #isAt(names: readonly string[]): boolean {
    return names.length === this.#levels.length - 1 && names.every((name, at) => this.#levels[at + 1]?.name === name);
  }

  #leaveAllBut(names: readonly string[]): void {
    const different = this.#levels.findIndex(({ name }, at) => at > 0 && name !== names[at - 1]);
    const kept = different === -1 ? this.#levels.length : different;
    while (this.#levels.length > Math.max(1, kept)) this.#leave();
  }

  #leave(): void {
    const level = this.#last;
    this.#levels.pop();
    try {
      this.#settle(level);
    } finally {
      level.folder.close();
    }
  }

  #settle({ folder, name, attributes }: Level): void {
    if (this.#options.syncs) folder.sync();
    if (attributes === undefined) return;
    try {
      folder.setAttributes(attributes);
    } catch (error) {
      // The volume's own folder, or its lost+found, is often root's.
      if (errnoName(error) !== "EPERM") throw error;
      this.keptFolders.add(name === "" ? "." : name);
    }
  }
}

function enterOrMake(folder: HeldFolder, name: string): HeldFolder {
  const found = enter(folder, name);
  if (found !== undefined) return found;
  folder.makeFolder(bytesOf(name), true);
  return enter(folder, name) ?? missing(name);
}

function enter(folder: HeldFolder, name: string): HeldFolder | undefined {
  try {
    return folder.enter(bytesOf(name));
  } catch (error) {
    if (errnoName(error) !== "ENOTDIR") throw error;
    throw new FormatError("FORMAT_UNSUPPORTED", `an entry lies below ${quoted(name)}, which is a link or a file`, {
      remedy: "No link is followed: it might lead out of the folder. Pack the archive from a tree without such paths.",
      cause: error,
    });
  }
}

function missing(name: string): never {
  throw new FormatError("FORMAT_CORRUPT", `an entry refers to ${quoted(name)}, which is not there`);
}
