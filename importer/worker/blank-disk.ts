/**
 * A disk without an image: zeros of the size that the claim asks for. A device is left as it is, unless its space is to be
 * taken; then it is filled.
 */
import { ZeroRanges } from "../engine/zero-ranges.ts";
import { Interrupted } from "../errors.ts";
import type { Target } from "../targets/target.ts";

/**
 * @param size bytes, of the disk
 * @throws TargetError, Interrupted; the target then holds nothing usable
 */
export async function makeBlankDisk(target: Target, size: number, signal: AbortSignal): Promise<void> {
  try {
    target.begin(size);
    if (signal.aborted) throw new Interrupted();
    const zeros = new ZeroRanges(target, signal);
    zeros.add(0, size);
    await zeros.apply();
    target.resize(size);
    target.flush();
    target.commit();
  } catch (error) {
    target.abort();
    throw error;
  }
}
