/**
 * Bytes of an image file at any offset: a local file, a file that is read in ranges over the network, or a member of an
 * archive that lies in one.
 *
 * A RandomAccess is made from a ReadSpec, plain data that crosses to worker threads. Threads share the process's file
 * descriptors and read with positions, so none of them seeks and none opens a path a second time; over the network each has
 * connections of its own.
 */
import fs from "node:fs";
import { SourceError } from "./errors.ts";
import { RemoteFile } from "./remote-file.ts";
import type { RemoteRanges } from "./sources/source.ts";

export interface RandomAccess {
  readonly size: number;
  /**
   * Fills `into` from `offset` on; several may be on their way at once. A local file answers at once, the network later.
   * @returns how many bytes; fewer than asked only at the end of the file
   * @throws SourceError
   */
  readAt(into: Uint8Array, offset: number): number | Promise<number>;
  readonly spec: ReadSpec;
  /** How often the network broke off and was asked again so far. */
  readonly retries?: number;
  /** Ends what is on its way. Whoever opened a descriptor closes it. */
  close(): void;
}

/** Plain data. Over the network it holds secrets. */
export type ReadSpec = ReadPlace & {
  /** Safe to show. */
  readonly name: string;
  readonly size: number;
  /**
   * For a member of an archive: [member offset, length, host offset] triples, ascending; what they leave out reads as
   * zeros. Undefined: the whole file.
   */
  readonly segments?: Float64Array;
};

type ReadPlace =
  | { readonly fd: number; readonly remote?: undefined }
  | { readonly fd?: undefined; readonly remote: RemoteRanges };

export type LocalSpec = Extract<ReadSpec, { readonly fd: number }>;

/** Answers at once. */
export interface LocalAccess extends RandomAccess {
  readAt(into: Uint8Array, offset: number): number;
  readonly spec: LocalSpec;
}

export function openRandomAccess(spec: LocalSpec): LocalAccess;
export function openRandomAccess(spec: ReadSpec): RandomAccess;
export function openRandomAccess(spec: ReadSpec): RandomAccess {
  if (spec.segments !== undefined) return new FileSegments(spec, spec.segments);
  return spec.remote === undefined ? new LocalFile(spec, spec.fd) : new RemoteFile(spec, spec.remote);
}

class LocalFile implements RandomAccess {
  readonly spec: ReadSpec;
  readonly size: number;
  readonly #fd: number;

  constructor(spec: ReadSpec, fd: number) {
    this.spec = spec;
    this.size = spec.size;
    this.#fd = fd;
  }

  readAt(into: Uint8Array, offset: number): number {
    const wanted = Math.max(0, Math.min(into.length, this.size - offset));
    let done = 0;
    while (done < wanted) {
      const count = this.#readSome(into.subarray(done, wanted), offset + done);
      if (count === 0) {
        throw new SourceError("SOURCE_CHANGED", `${this.spec.name} became shorter while it was read`);
      }
      done += count;
    }
    return done;
  }

  close(): void {
    // The descriptor is its opener's.
  }

  #readSome(into: Uint8Array, position: number): number {
    try {
      return fs.readSync(this.#fd, into, 0, into.length, position);
    } catch (error) {
      throw new SourceError("SOURCE_UNAVAILABLE", `cannot read ${this.spec.name} at ${position}`, { cause: error });
    }
  }
}

class FileSegments implements RandomAccess {
  readonly spec: ReadSpec;
  readonly size: number;
  readonly #segments: Float64Array;
  readonly #file: RandomAccess;

  constructor(spec: ReadSpec, segments: Float64Array) {
    this.spec = spec;
    this.size = spec.size;
    this.#segments = segments;
    const { segments: _, ...whole } = spec;
    this.#file = openRandomAccess({ ...whole, size: spec.remote?.spec.representation.size ?? Number.MAX_SAFE_INTEGER });
  }

  readAt(into: Uint8Array, offset: number): number | Promise<number> {
    const wanted = Math.max(0, Math.min(into.length, this.size - offset));
    const end = offset + wanted;
    const late: Promise<number>[] = [];
    let at = offset;
    for (let i = firstSegmentEndingAfter(this.#segments, offset); at < end; i++) {
      const start = this.#segments[3 * i] ?? Infinity;
      const zerosUntil = Math.min(Math.max(at, start), end);
      into.fill(0, at - offset, zerosUntil - offset);
      at = zerosUntil;
      if (at === end) break;
      const dataUntil = Math.min(start + (this.#segments[3 * i + 1] ?? 0), end);
      const hostOffset = (this.#segments[3 * i + 2] ?? 0) + at - start;
      const answer = this.#file.readAt(into.subarray(at - offset, dataUntil - offset), hostOffset);
      if (typeof answer !== "number") late.push(answer);
      at = dataUntil;
    }
    return late.length === 0 ? wanted : Promise.all(late).then(() => wanted);
  }

  close(): void {
    this.#file.close();
  }
}

/** Index of the first of `segments` that ends after `offset`; their count if none does. */
export function firstSegmentEndingAfter(segments: Float64Array, offset: number): number {
  let low = 0;
  let high = segments.length / 3;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const end = (segments[3 * middle] ?? 0) + (segments[3 * middle + 1] ?? 0);
    if (end <= offset) low = middle + 1;
    else high = middle;
  }
  return low;
}
