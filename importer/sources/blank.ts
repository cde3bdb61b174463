/**
 * A disk without an image: zeros of a size, none of which is read or written where the target starts zeroed.
 */
import { UsageError } from "../errors.ts";
import { FileStream } from "../file-stream.ts";
import { quantityInBytes } from "../quantity.ts";
import { openRandomAccess } from "../random-access.ts";
import type { Source } from "./source.ts";

/** How such a source is named; a file of that name is written `./blank:…`. */
export const BLANK = "blank:";

/**
 * @param name `blank:10Gi`
 * @throws UsageError without a size
 */
export function openBlank(name: string): Source {
  const size = quantityInBytes(name.slice(BLANK.length));
  if (size === undefined || size === 0 || !Number.isSafeInteger(size)) {
    throw new UsageError(`${name.slice(0, 100)} has no size`, { remedy: "Write it behind the colon: blank:10Gi" });
  }
  // A file of which no part is stored anywhere, so its descriptor is never used.
  const file = openRandomAccess({ fd: -1, name, size, segments: new Float64Array(0) });
  return { name, path: undefined, size, file, stream: () => new FileStream(file), close: () => undefined };
}
