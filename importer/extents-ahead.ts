/**
 * All extents of an image in virtual order, with several windows of its tables parsed at once where reading takes time.
 *
 * Over the network a table is a round trip away: 320 of them one after the other are six seconds at 20 ms. A local file
 * answers at once, and there is one window.
 */
import type { DiskImage, Extent } from "../formats/disk-format.ts";
import { driveParser } from "./drive-parser.ts";
import type { RandomAccess } from "./random-access.ts";

/** Windows that are parsed at once over the network. */
const WINDOWS = 8;

/** The first window, parsed alone, tells how dense the tables are. 256 MiB are half a table of a qcow2 as qemu-img makes it. */
const FIRST_LENGTH = 256 * 1024 * 1024;

/** Extents that a window is meant to have, 150 bytes each: 5 MB of all that wait. */
const EXTENTS_PER_WINDOW = 4096;

const MIN_LENGTH = 16 * 1024 * 1024;

interface Window {
  readonly end: number;
  /** Those that the parser answered first; there may be more of the window. */
  readonly extents: Promise<readonly Extent[]>;
}

/**
 * @param image       its virtual size is known
 * @param firstLength of the first window over the network; a power of two
 * @returns the extents as the parser answers, table by table; contiguous, ascending, up to the virtual size
 */
export async function* extentsAhead(
  image: DiskImage,
  file: RandomAccess,
  firstLength = FIRST_LENGTH,
): AsyncGenerator<readonly Extent[]> {
  const size = image.virtualSize ?? 0;
  const isRemote = file.spec.remote !== undefined;
  const parse = (offset: number, end: number): Promise<readonly Extent[]> =>
    driveParser(image.extents(offset, end - offset), file);
  const windows: Window[] = [];
  let length = isRemote ? firstLength : size;
  let launched = 0;
  for (let offset = 0; offset < size;) {
    for (const most = offset === 0 || !isRemote ? 1 : WINDOWS; windows.length < most && launched < size;) {
      const end = Math.min(size, launched + length);
      const extents = parse(launched, end);
      extents.catch(() => undefined); // thrown when its turn comes
      windows.push({ end, extents });
      launched = end;
    }
    const window = windows.shift();
    if (window === undefined) throw new Error(`no extents at ${offset}`);
    let count = 0;
    for (let answer = await window.extents; ; answer = await parse(offset, window.end)) {
      yield answer;
      count += answer.length;
      offset = endOf(answer, offset);
      if (offset >= window.end) break;
    }
    if (isRemote) length = nextLength(length, count, Math.min(firstLength, MIN_LENGTH));
  }
}

/** Powers of two, so that windows begin where tables do. */
function nextLength(length: number, count: number, least: number): number {
  if (count > EXTENTS_PER_WINDOW) return Math.max(least, length / 2);
  return count < EXTENTS_PER_WINDOW / 2 ? length * 2 : length;
}

function endOf(extents: readonly Extent[], offset: number): number {
  const last = extents.at(-1);
  if (last === undefined || last.offset + last.length <= offset) throw new Error(`no extents at ${offset}`);
  return last.offset + last.length;
}
