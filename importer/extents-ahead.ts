/**
 * All extents of an image in virtual order, with several windows of its tables parsed at once where reading takes time.
 *
 * Over the network a table is a round trip away: 320 of them one after the other are six seconds at 20 ms. A local file
 * answers at once, and there is one window.
 */
import type { DiskImage, Extent } from "../formats/disk-format.ts";
import { driveParser } from "./drive-parser.ts";
import type { RandomAccess } from "./random-access.ts";

/** Windows that are parsed at once over the network; each holds the extents of a table or so. */
const WINDOWS = 8;

interface Window {
  readonly end: number;
  readonly extents: Promise<readonly Extent[]>;
}

/**
 * @param image its virtual size is known
 * @returns the extents as the parser answers, table by table; contiguous, ascending, up to the virtual size
 */
export async function* extentsAhead(image: DiskImage, file: RandomAccess): AsyncGenerator<readonly Extent[]> {
  const size = image.virtualSize ?? 0;
  const parse = (offset: number, end: number): Promise<readonly Extent[]> =>
    driveParser(image.extents(offset, end - offset), file);
  const windows: Window[] = [];
  let offset = 0;
  let launched = 0;
  let length = size;
  while (offset < size) {
    const { end, extents } = windows.shift() ?? { end: size, extents: parse(offset, size) };
    const first = await extents;
    yield first;
    offset = endOf(first, offset);
    if (file.spec.remote === undefined) continue;
    // The first answer says how far one table reaches. Where an answer falls short of its window, the rest is asked for.
    if (launched === 0) length = offset;
    else {
      while (offset < end) {
        const more = await parse(offset, end);
        yield more;
        offset = endOf(more, offset);
      }
    }
    launched = Math.max(launched, offset);
    while (windows.length < WINDOWS && launched < size) {
      const until = Math.min(size, launched + length);
      const answer = parse(launched, until);
      answer.catch(() => undefined); // thrown when its turn comes
      windows.push({ end: until, extents: answer });
      launched = until;
    }
  }
}

function endOf(extents: readonly Extent[], offset: number): number {
  const last = extents.at(-1);
  if (last === undefined || last.offset + last.length <= offset) throw new Error(`no extents at ${offset}`);
  return last.offset + last.length;
}
