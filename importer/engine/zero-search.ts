/**
 * Finds zeros in data, so that they need not be written.
 *
 * Blocks of 4 KiB, which is what file systems and devices can leave out. Comparing with one shared zero buffer in steps
 * of 64 KiB first took 0.04 ms a MiB, in steps of 4 KiB 0.13 to 0.25 ms, a loop over bytes 1.3 ms.
 */

/** The grain in which zeros are dropped. */
export const ZERO_GRAIN = 4096;

const STRIDE = 64 * 1024;
const zeros = Buffer.alloc(STRIDE);

/** True if bytes[start, end) are all zero. */
export function isZero(bytes: Uint8Array, start = 0, end = bytes.length): boolean {
  // Most data that is not zero shows it in its first byte.
  if (start < end && bytes[start] !== 0) return false;
  for (let at = start; at < end; at += STRIDE) {
    const stop = Math.min(at + STRIDE, end);
    if (zeros.compare(bytes, at, stop, 0, stop - at) !== 0) return false;
  }
  return true;
}

/**
 * Splits data into runs that are zero and runs that are not, in grains aligned to the disk.
 *
 * @param bytes  data for the disk at `offset`
 * @param offset virtual offset of its first byte; grains start at multiples of ZERO_GRAIN of the disk
 * @param emit   called for each run, ascending, with positions in `bytes`
 */
export function splitZeros(
  bytes: Uint8Array,
  offset: number,
  emit: (start: number, end: number, zero: boolean) => void,
): void {
  let runStart = 0;
  let runZero = false;
  let at = 0;
  while (at < bytes.length) {
    let end = Math.min(at + STRIDE, bytes.length);
    let zero = bytes[at] === 0 && (offset + at) % ZERO_GRAIN === 0 && isZero(bytes, at, end);
    if (!zero) {
      end = Math.min(at + ZERO_GRAIN - ((offset + at) % ZERO_GRAIN), bytes.length);
      zero = isZero(bytes, at, end);
    }
    if (zero !== runZero) {
      if (at > runStart) emit(runStart, at, runZero);
      runStart = at;
      runZero = zero;
    }
    at = end;
  }
  if (runStart < bytes.length) emit(runStart, bytes.length, runZero);
}
