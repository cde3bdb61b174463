/**
 * The holes of an image file itself: plain data that lies in one is zeros and need not be read.
 *
 * A raw file that is sparse, a preallocated qcow2, a member of a sparse tar. Asked lazily (SEEK_DATA, SEEK_HOLE) and
 * remembered, so that a file without holes costs two calls in all.
 */
import type { Extent } from "../formats/disk-format.ts";
import { loadKernel } from "./kernel.ts";
import type { RandomAccess } from "./random-access.ts";

export interface DataRanges {
  /** The extent, cut where its bytes in the file are a hole; such parts become zero extents. */
  split(extent: Extent): Iterable<Extent>;
}

export function dataRanges(file: RandomAccess): DataRanges {
  void loadKernel;
  void file;
  throw new Error("later");
}
