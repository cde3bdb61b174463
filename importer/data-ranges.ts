/**
 * The holes of an image file itself: plain data that lies in one is zeros and need not be read.
 *
 * A raw file that is sparse, a preallocated qcow2, a member of a sparse tar. Asked lazily (SEEK_DATA, SEEK_HOLE) and the last
 * answer remembered, so that a file without holes costs two calls in all. Where nobody can tell, all is data.
 */
import type { Extent } from "../formats/disk-format.ts";
import { loadKernel } from "./kernel.ts";
import { firstSegmentEndingAfter } from "./random-access.ts";
import type { RandomAccess } from "./random-access.ts";

export interface DataRanges {
  /** The extent, cut where its bytes in the file are a hole; such parts become zero extents with their host offset. */
  split(extent: Extent): readonly Extent[];
}

interface Range {
  readonly start: number;
  readonly end: number;
}

/** The first range of data that ends after a host offset. Past its end a file is "data": whoever reads there is told. */
type FindData = (offset: number) => Range;

export function dataRanges(file: RandomAccess): DataRanges {
  const find = file.spec.segments === undefined ? findInFile(file) : findInSegments(file.spec.segments, file.size);
  let data: Range = { start: 0, end: 0 };
  return {
    split(extent) {
      if (extent.kind !== "data" || extent.stored.encoding !== "plain") return [extent];
      const hostStart = extent.stored.offset;
      const hostEnd = hostStart + extent.length;
      if (data.start <= hostStart && hostEnd <= data.end) return [extent];
      const parts: Extent[] = [];
      for (let at = hostStart; at < hostEnd;) {
        if (at < data.start || at >= data.end) data = find(at);
        const zeroEnd = Math.min(hostEnd, Math.max(at, data.start));
        const offset = extent.offset + at - hostStart;
        if (zeroEnd > at) {
          parts.push({ kind: "zero", offset, length: zeroEnd - at, hostOffset: at });
          at = zeroEnd;
          continue;
        }
        const length = Math.min(hostEnd, data.end) - at;
        parts.push({ kind: "data", offset, length, stored: { encoding: "plain", offset: at, length } });
        at += length;
      }
      return parts;
    },
  };
}

function findInFile(file: RandomAccess): FindData {
  const kernel = loadKernel();
  const { fd } = file.spec;
  const all = { start: 0, end: Infinity };
  return (offset) => {
    if (kernel === undefined || fd === undefined) return all;
    const start = kernel.seek(fd, "data", offset);
    if (start === "ENXIO") return { start: file.size, end: Infinity }; // nothing but a hole follows
    if (typeof start === "string") return all; // a pipe, or a filesystem that cannot
    const end = kernel.seek(fd, "hole", start);
    return { start, end: typeof end === "string" || end >= file.size ? Infinity : end };
  };
}

function findInSegments(segments: Float64Array, size: number): FindData {
  return (offset) => {
    const at = 3 * firstSegmentEndingAfter(segments, offset);
    const start = segments[at];
    if (start === undefined) return { start: size, end: Infinity };
    return { start, end: start + (segments[at + 1] ?? 0) };
  };
}
