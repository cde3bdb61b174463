/**
 * Finds the disk in a container image: the one file in its folder `/disk`, as it would be seen were the image unpacked.
 *
 * Layers are read from the top down, each once and as a stream: the disk's bytes go on as they pass, nothing is kept. The
 * topmost layer that holds a file of the folder decides; files that lower layers hold there too are not looked for, because a
 * base image would have to be fetched for nothing. The rest of the deciding layer is read to its end, so that a second disk
 * in it is noticed and its digest is checked.
 *
 * A link leads to another path of the image, also in a lower layer, never outside; the search begins again with that path.
 * A hard link stands for content of its own layer or of one below, whatever layers above it have put in that place.
 */
import { listed, quoted } from "../../formats/archives/shown-names.ts";
import type { TarEntry } from "../../formats/archives/tar/tar.ts";
import type { ByteStream } from "../../formats/byte-stream.ts";
import { FormatError } from "../../formats/errors.ts";
import { concerns, CoveredPaths } from "./covered-paths.ts";
import { imagePath, isBelow, linkTarget } from "./image-path.ts";
import type { Layer } from "./layer.ts";

/** Opens a layer from its first byte; several times if links ask for it. */
export type OpenLayer = () => Promise<Layer>;

export interface FoundDisk {
  /** In the image, without a slash in front. */
  readonly path: string;
  /** Bytes of the file. */
  readonly size: number;
  /** Bytes of blobs that are still to come. */
  readonly rest: number;
  /** Ends only after the layer has: it fails if the layer is damaged or holds a second disk. */
  readonly stream: ByteStream;
}

const FOLDER = "disk";

/** Links that lead to links; each costs a pass over the layers. */
const MAX_LINKS = 16;

/** Characters of the names that are remembered of a folder with several files. */
const MAX_NAMES_LENGTH = 1024 * 1024;

/** The most names that an error's context holds. */
const MAX_NAMES = 20;

const NAME_IT = "Name the one to take with --member NAME on the command line, or make an image with one.";

/** What is looked for: any file in a folder, or one file; in the layer `from` and those below. */
interface Wanted {
  readonly kind: "folder" | "file";
  readonly path: string;
  /** Index of the topmost layer that counts. */
  readonly from: number;
}

type Outcome = { readonly found: FoundDisk } | { readonly next: Wanted } | undefined;

/**
 * @param layers the topmost first
 * @param member name of a file in the folder, or its path in the image; undefined: the only one in the folder
 * @throws FormatError FORMAT_UNRECOGNISED (there is none), FORMAT_UNSUPPORTED (several, with their names; links without end);
 *         what the layers throw
 */
export async function findDisk(layers: readonly OpenLayer[], member: string | undefined): Promise<FoundDisk> {
  let wanted: Wanted =
    member === undefined
      ? { kind: "folder", path: FOLDER, from: 0 }
      : { kind: "file", path: memberPath(member), from: 0 };
  let named = member;
  const before = new Set<string>();
  for (let links = 0; links <= MAX_LINKS; links++) {
    const place = `${wanted.from} ${wanted.kind} ${wanted.path}`;
    if (before.has(place)) break;
    before.add(place);
    const outcome: Outcome = await search(layers, wanted);
    if (outcome === undefined) throw missing(wanted, named);
    if ("found" in outcome) return outcome.found;
    named = `/${outcome.next.path}`;
    wanted = outcome.next;
  }
  throw tooManyLinks();
}

/** A name without a slash is one of the folder. */
function memberPath(member: string): string {
  const path = imagePath(member);
  return member.includes("/") ? path : `${FOLDER}/${path}`;
}

async function search(layers: readonly OpenLayer[], wanted: Wanted): Promise<Outcome> {
  const covered = new CoveredPaths();
  for (const [index, open] of layers.entries()) {
    if (index < wanted.from) continue;
    const layer = await open();
    let outcome: Outcome;
    try {
      outcome = await new LayerSearch(layer, index, wanted, covered).run();
    } catch (error) {
      await layer.close();
      throw error;
    }
    if (outcome !== undefined) return outcome;
    covered.endLayer();
  }
  return undefined;
}

/** The search in one layer. */
class LayerSearch {
  readonly #layer: Layer;
  readonly #index: number;
  readonly #wanted: Wanted;
  readonly #covered: CoveredPaths;
  /** Links that are, or may be, what is wanted: where each leads. */
  readonly #links = new Map<string, Wanted>();
  #detour: Wanted | undefined;
  #namesLength = 0;

  constructor(layer: Layer, index: number, wanted: Wanted, covered: CoveredPaths) {
    this.#layer = layer;
    this.#index = index;
    this.#wanted = wanted;
    this.#covered = covered;
  }

  /** The layer is closed unless the disk was found in it. */
  async run(): Promise<Outcome> {
    const file = await this.#untilFile();
    if (file !== undefined) return { found: this.#found(file.path, file.entry) };
    await this.#layer.finish();
    await this.#layer.close();
    const next = this.#onlyLink() ?? this.#detour;
    return next === undefined ? undefined : { next };
  }

  /** Goes on to the next file that is wanted, and takes notes of everything else. */
  async #untilFile(): Promise<{ readonly path: string; readonly entry: TarEntry } | undefined> {
    const { path: wanted, kind: wantedKind } = this.#wanted;
    const isOfInterest = (path: string): boolean => concerns(path, wanted, wantedKind === "folder");
    for (let entry = await this.#layer.next(); entry !== undefined; entry = await this.#layer.next()) {
      const path = imagePath(entry.name);
      if (this.#covered.takeWhiteout(path, isOfInterest) || !isOfInterest(path)) continue;
      if (this.#covered.hides(path, entry.kind === "folder")) continue;
      const isMatch = wantedKind === "file" ? path === wanted : isBelow(path, wanted);
      if (isMatch && entry.kind === "file") return { path, entry };
      if (entry.kind === "folder") {
        this.#covered.addFolder(path);
        continue;
      }
      this.#covered.replace(path);
      const next = this.#leadsTo(path, entry);
      if (next === undefined) continue;
      if (isMatch) this.#addLink(path, next);
      else this.#detour = { ...next, kind: wantedKind, path: joined(next.path, wanted.slice(path.length)) };
    }
    return undefined;
  }

  #leadsTo(path: string, { kind, link }: TarEntry): Wanted | undefined {
    if (kind === "symbolic-link") return { kind: "file", path: linkTarget(path, link), from: 0 };
    return kind === "hard-link" ? { kind: "file", path: imagePath(link), from: this.#index } : undefined;
  }

  #addLink(path: string, next: Wanted): void {
    this.#countName(path);
    this.#countName(next.path);
    this.#links.set(path, next);
  }

  #countName(name: string): void {
    this.#namesLength += name.length + 1;
    if (this.#namesLength <= MAX_NAMES_LENGTH) return;
    const message = `the names in the image's folder /${FOLDER} have more than ${MAX_NAMES_LENGTH} characters`;
    throw new FormatError("FORMAT_OUT_OF_BOUNDS", message);
  }

  /** Links to links of the same folder stand for the last of them. */
  #onlyLink(): Wanted | undefined {
    if (this.#links.size === 0) return undefined;
    const ends = new Map([...this.#links.values()].map((next) => [next.path, next]));
    for (const path of this.#links.keys()) ends.delete(path);
    const [end, ...others] = ends.values();
    if (end === undefined) throw tooManyLinks();
    if (others.length > 0) throw ambiguous([...this.#links.keys()]);
    return end;
  }

  #found(path: string, entry: TarEntry): FoundDisk {
    const content = this.#layer.content(entry);
    let isChecked = false;
    const read = async (into: Uint8Array): Promise<number> => {
      const count = await content.read(into);
      if (count > 0 || into.length === 0 || isChecked) return count;
      isChecked = true;
      await this.#checkRest(path);
      return 0;
    };
    return { path, size: entry.size, rest: this.#layer.rest, stream: { read, close: () => this.#layer.close() } };
  }

  /** Everything behind the disk: no other one may be there, but links to it. */
  async #checkRest(path: string): Promise<void> {
    const names = [path];
    for (let file = await this.#untilFile(); file !== undefined; file = await this.#untilFile()) {
      this.#countName(file.path);
      names.push(file.path);
    }
    await this.#layer.finish();
    for (const link of this.#links.keys()) if (!this.#endsAt(link, path)) names.push(link);
    if (names.length > 1) throw ambiguous(names);
  }

  #endsAt(link: string, path: string): boolean {
    let at: string | undefined = link;
    for (let links = 0; links <= MAX_LINKS && at !== undefined && at !== path; links++) at = this.#links.get(at)?.path;
    return at === path;
  }
}

function joined(path: string, rest: string): string {
  return imagePath(`${path}/${rest}`);
}

function missing(wanted: Wanted, named: string | undefined): FormatError {
  if (wanted.kind === "folder" || named === undefined) {
    return new FormatError("FORMAT_UNRECOGNISED", "Failed to find VM disk image file in the container image", {
      remedy: `The disk is taken from the folder /${FOLDER} of the image.`,
    });
  }
  return new FormatError("FORMAT_UNRECOGNISED", `the container image holds no file ${quoted(named)}`);
}

function ambiguous(names: readonly string[]): FormatError {
  const message = `the container image holds ${names.length} files in its folder /${FOLDER}: ${listed(names)}`;
  return new FormatError("FORMAT_UNSUPPORTED", message, {
    remedy: NAME_IT,
    context: { members: names.slice(0, MAX_NAMES) },
  });
}

function tooManyLinks(): FormatError {
  return new FormatError(
    "FORMAT_UNSUPPORTED",
    `the disk of the container image is behind more than ${MAX_LINKS} links`,
    {
      remedy: "They lead in a circle, or the image is made to be read for ever.",
    },
  );
}
