/**
 * Bytes of an image file at any offset: a local file, or a member of an archive that lies in one.
 *
 * A RandomAccess is made from a ReadSpec, plain data that crosses to worker threads: threads share the process's file
 * descriptors and read with positions, so none of them seeks and none opens a path a second time.
 */
import fs from "node:fs";
import { SourceError } from "./errors.ts";

export interface RandomAccess {
  readonly size: number;
  /**
   * Fills `into` from `offset` on.
   * @returns how many bytes; fewer than asked only at the end of the file
   */
  readAt(into: Uint8Array, offset: number): number;
  readonly spec: ReadSpec;
}

export interface ReadSpec {
  readonly fd: number;
  /** Safe to show. */
  readonly name: string;
  readonly size: number;
  /**
   * For a member of an archive: [member offset, length, host offset] triples, ascending; what they leave out reads as
   * zeros. Undefined: the whole file.
   */
  readonly segments?: Float64Array;
}

export function openRandomAccess(spec: ReadSpec): RandomAccess {
  return spec.segments === undefined ? new WholeFile(spec) : new FileSegments(spec, spec.segments);
}

class WholeFile implements RandomAccess {
  readonly spec: ReadSpec;
  readonly size: number;

  constructor(spec: ReadSpec) {
    this.spec = spec;
    this.size = spec.size;
  }

  readAt(into: Uint8Array, offset: number): number {
    const wanted = Math.max(0, Math.min(into.length, this.size - offset));
    let done = 0;
    while (done < wanted) {
      const count = readSome(this.spec, into, done, wanted - done, offset + done);
      if (count === 0) {
        throw new SourceError("SOURCE_CHANGED", `${this.spec.name} became shorter while it was read`);
      }
      done += count;
    }
    return done;
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
    this.#file = new WholeFile({ ...whole, size: Number.MAX_SAFE_INTEGER });
  }

  readAt(into: Uint8Array, offset: number): number {
    const wanted = Math.max(0, Math.min(into.length, this.size - offset));
    const end = offset + wanted;
    let at = offset;
    for (let i = firstSegmentEndingAfter(this.#segments, offset); at < end; i++) {
      const start = this.#segments[3 * i] ?? Infinity;
      const zerosUntil = Math.min(Math.max(at, start), end);
      into.fill(0, at - offset, zerosUntil - offset);
      at = zerosUntil;
      if (at === end) break;
      const dataUntil = Math.min(start + (this.#segments[3 * i + 1] ?? 0), end);
      const hostOffset = (this.#segments[3 * i + 2] ?? 0) + at - start;
      this.#file.readAt(into.subarray(at - offset, dataUntil - offset), hostOffset);
      at = dataUntil;
    }
    return wanted;
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

function readSome(spec: ReadSpec, into: Uint8Array, at: number, length: number, position: number): number {
  try {
    return fs.readSync(spec.fd, into, at, length, position);
  } catch (error) {
    throw new SourceError("SOURCE_UNAVAILABLE", `cannot read ${spec.name} at ${position}`, { cause: error });
  }
}
