/**
 * What the layers so far hide of those below them: whiteouts, opaque folders, and whatever stands where something stood.
 *
 * A layer hides nothing of its own, wherever in it a whiteout stands, so what it says counts from the next layer on.
 * @see OCI image specification, "Image layer filesystem changeset": Whiteouts
 */
import { FormatError } from "../../formats/errors.ts";
import { baseOf, folderOf, isBelow } from "./image-path.ts";

const WHITEOUT = ".wh.";
const OPAQUE = ".wh..wh..opq";

/** Characters of all paths together: some ten thousand paths. */
const MAX_LENGTH = 4 * 1024 * 1024;

type Effect = "removed" | "opaque" | "folder";

/** What hides more wins over layers. */
const RANKS: Readonly<Record<Effect, number>> = { folder: 1, opaque: 2, removed: 3 };

export class CoveredPaths {
  readonly #above = new Map<string, Effect>();
  readonly #present = new Map<string, Effect>();
  #length = 0;

  /**
   * Whether the entry is a whiteout; what it hides is remembered if `isOfInterest`.
   * @param isOfInterest asked for the path that is hidden
   */
  takeWhiteout(path: string, isOfInterest: (path: string) => boolean): boolean {
    const base = baseOf(path);
    if (!base.startsWith(WHITEOUT)) return false;
    const folder = folderOf(path);
    if (base === OPAQUE) {
      if (isOfInterest(folder)) this.#remember(folder, "opaque");
    } else if (!base.startsWith(`${WHITEOUT}${WHITEOUT}`)) {
      // Names with the mark twice are AUFS's own.
      const hidden = folder === "" ? base.slice(WHITEOUT.length) : `${folder}/${base.slice(WHITEOUT.length)}`;
      if (isOfInterest(hidden)) this.#remember(hidden, "removed");
    }
    return true;
  }

  /** Something that is no folder stands here: nothing of below is seen. */
  replace(path: string): void {
    this.#remember(path, "removed");
  }

  /** A folder stands here: of below only a folder shows through. */
  addFolder(path: string): void {
    this.#remember(path, "folder");
  }

  /** Whether a layer above hides what this one has at `path`. */
  hides(path: string, isFolder: boolean): boolean {
    const here = this.#above.get(path);
    if (here === "removed" || (here !== undefined && !isFolder)) return true;
    for (let folder = path; folder !== "";) {
      folder = folderOf(folder);
      const effect = this.#above.get(folder);
      if (effect === "removed" || effect === "opaque") return true;
    }
    return false;
  }

  /** The layer has ended. */
  endLayer(): void {
    for (const [path, effect] of this.#present) {
      const before = this.#above.get(path);
      if (before === undefined || RANKS[effect] > RANKS[before]) this.#above.set(path, effect);
    }
    this.#present.clear();
  }

  /** Of one path in one layer: a folder that was made anew hides as one that is opaque. */
  #remember(path: string, effect: Effect): void {
    const before = this.#present.get(path);
    if (before === undefined) this.#length += path.length + 1;
    if (this.#length > MAX_LENGTH) {
      throw new FormatError("FORMAT_OUT_OF_BOUNDS", `the image's layers hide more paths than ${MAX_LENGTH} characters`);
    }
    this.#present.set(path, before === undefined ? effect : combined(before, effect));
  }
}

function combined(one: Effect, other: Effect): Effect {
  if (one === other) return one;
  return one === "folder" || other === "folder" ? "opaque" : "removed";
}

/** Whether `path` is `wanted`, one of the folders that it lies in, or, with `below`, something in it. */
export function concerns(path: string, wanted: string, below: boolean): boolean {
  return path === wanted || isBelow(wanted, path) || (below && isBelow(path, wanted));
}
