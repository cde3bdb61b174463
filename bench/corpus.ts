/**
 * The corpus: disks (disks.ts) as every kind of image (recipes.ts). Each file is made once, where a work asks for it, and kept
 * in a cache folder outside the checkout.
 */
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { digestContent } from "../cmd/bench/content-digest.ts";
import { makeFilesystem, makeFilled } from "./disks.ts";
import { DISKS, EMPTY, recipesFor } from "./recipes.ts";
import type { Recipe } from "./recipes.ts";

export interface CorpusSize {
  readonly name: "full" | "quick";
  /** Of the filesystem's disk. */
  readonly virtualSize: number;
  /** Bytes of files on it. */
  readonly contentBytes: number;
  /** Of each disk that is filled to some share. */
  readonly filledSize: number;
}

export const FULL: CorpusSize = {
  name: "full",
  virtualSize: 10 * 2 ** 30,
  contentBytes: 750e6,
  filledSize: 2 ** 30,
};
export const QUICK: CorpusSize = { name: "quick", virtualSize: 2 ** 30, contentBytes: 75e6, filledSize: 2 ** 28 };

export class Corpus {
  readonly folder: string;
  readonly #size: CorpusSize;
  readonly #recipes: Readonly<Record<string, Recipe>>;
  readonly #say: (text: string) => void;
  readonly #digests = new Map<string, Promise<string>>();

  /** @param cache the folder that holds caches, as XDG_CACHE_HOME does */
  constructor(size: CorpusSize, cache: string, say: (text: string) => void) {
    this.folder = path.join(cache, "decant-bench", size.name);
    this.#size = size;
    this.#recipes = recipesFor(size.name);
    this.#say = say;
    fs.mkdirSync(this.folder, { recursive: true });
  }

  /** The path of an image or a disk, which is there afterwards. @throws Error for a name that has no recipe */
  make(name: string): string {
    const file = path.join(this.folder, name);
    if (fs.existsSync(file)) return file;
    const unfinished = `${file}.part`;
    const recipe = this.#recipes[name];
    const from = recipe?.from === undefined ? "" : this.make(recipe.from);
    this.#say(`making ${file}`);
    fs.rmSync(unfinished, { force: true });
    if (recipe === undefined) this.#makeDisk(name, unfinished);
    else
      execFileSync("sh", ["-ec", recipe.line], { stdio: "pipe", env: { ...process.env, FROM: from, OUT: unfinished } });
    fs.renameSync(unfinished, file);
    return file;
  }

  /** The disk that an image was made of, or the disk itself; undefined: it was not kept. */
  diskOf(name: string): string | undefined {
    const recipe = this.#recipes[name];
    const disk = recipe === undefined ? name : recipe.disk;
    return disk === undefined || disk === EMPTY ? undefined : this.make(disk);
  }

  /** What an image must decode to, decant included; undefined: nobody knows better than its readers. */
  async digestOf(name: string): Promise<string | undefined> {
    if (this.#recipes[name]?.disk === EMPTY) return await digestContent(this.make(name), 0);
    const disk = this.diskOf(name);
    if (disk === undefined) return undefined;
    const digest = this.#digests.get(disk) ?? digestContent(disk, Infinity);
    this.#digests.set(disk, digest);
    return await digest;
  }

  #makeDisk(name: string, file: string): void {
    const { virtualSize, contentBytes, filledSize } = this.#size;
    const [filesystem, half, full] = DISKS;
    if (name === filesystem) makeFilesystem(file, virtualSize, contentBytes);
    else if (name === half) makeFilled(file, filledSize, 0.5);
    else if (name === full) makeFilled(file, filledSize, 1);
    else throw new Error(`no recipe makes ${name}`);
  }
}

export function cacheFolder(env: Readonly<Record<string, string | undefined>>): string {
  return env["XDG_CACHE_HOME"] ?? path.join(os.homedir(), ".cache");
}
