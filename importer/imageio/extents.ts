/**
 * Which parts of a disk hold data, out of what an imageio server lists at `/extents`: one JSON object for each range of the
 * disk, `zero` where it reads as zeros, ascending and without gaps. (`hole`, that the range is not even allocated, makes no
 * difference to a copy.)
 */
import { SourceError } from "../errors.ts";

/** Bytes of a list, about 220,000 extents; a disk with a longer one is read as a whole. */
export const MAX_LIST_LENGTH = 16 * 1024 * 1024;

/** Zeros between two ranges of data that are fetched with them: a request of its own takes longer. */
const SHORT_ZEROS = 64 * 1024;

/** A range of the disk, `[start, end)`. */
export interface DataRun {
  readonly start: number;
  readonly end: number;
}

export interface DiskExtents {
  /** Bytes of the disk: where the last extent ends. */
  readonly size: number;
  /** Ascending; between them are zeros. */
  readonly runs: readonly DataRun[];
}

/**
 * @param name of the disk, for the errors
 * @throws SourceError SOURCE_UNAVAILABLE for a list that cannot be trusted
 */
export function parseExtents(json: Uint8Array, name: string): DiskExtents {
  const list = parseList(json);
  if (list === undefined) throw untrusted(name, "that is no list");
  const runs: { readonly start: number; end: number }[] = [];
  let at = 0;
  for (const [index, entry] of list.entries()) {
    const extent = parseExtent(entry);
    if (extent === undefined) throw untrusted(name, `of which number ${index} is no extent`);
    if (extent.start !== at) {
      throw untrusted(name, `out of order: one starts at ${extent.start} where ${at} comes next, cannot safely append`);
    }
    at += extent.length;
    if (!Number.isSafeInteger(at)) throw untrusted(name, "that end beyond every disk");
    if (extent.zero || extent.length === 0) continue;
    const last = runs.at(-1);
    if (last !== undefined && extent.start - last.end <= SHORT_ZEROS) last.end = at;
    else runs.push({ start: extent.start, end: at });
  }
  return { size: at, runs };
}

/** Without what lies beyond `size`: a host's volume may be longer than the disk that it holds. */
export function clipExtents(extents: DiskExtents, size: number): DiskExtents {
  if (extents.size <= size) return extents;
  const inside = extents.runs.filter((run) => run.start < size);
  return { size, runs: inside.map(({ start, end }) => ({ start, end: Math.min(end, size) })) };
}

function parseList(json: Uint8Array): readonly unknown[] | undefined {
  try {
    const list: unknown = JSON.parse(new TextDecoder().decode(json));
    return Array.isArray(list) ? list : undefined;
  } catch {
    return undefined;
  }
}

interface Extent {
  readonly start: number;
  readonly length: number;
  readonly zero: boolean;
}

function parseExtent(entry: unknown): Extent | undefined {
  if (typeof entry !== "object" || entry === null) return undefined;
  const { start, length, zero } = entry as Readonly<Record<string, unknown>>;
  if (!isOffset(start) || !isOffset(length) || typeof zero !== "boolean") return undefined;
  return { start, length, zero };
}

function isOffset(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function untrusted(name: string, how: string): SourceError {
  return new SourceError("SOURCE_UNAVAILABLE", `the server of ${name} lists extents ${how}`);
}
