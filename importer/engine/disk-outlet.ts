/**
 * Where the extents of a disk go: data to the job pool, zeros to the target's own means.
 */
import { TargetError } from "../errors.ts";
import type { Target } from "../targets/target.ts";
import type { JobPool } from "./job-pool.ts";
import type { JobResult } from "./job.ts";
import type { ZeroRanges } from "./zero-ranges.ts";

export interface DiskOutlet {
  readonly pool: JobPool;
  /**
   * Called with the end of each range whose place is known: zeros past a device's end would else go unnoticed, and for a
   * stream of unknown length all of it would be read first.
   * @throws TargetError TARGET_TOO_SMALL
   */
  checkFits(end: number): void;
  /** A range that reads as zeros. */
  zero(offset: number, length: number): void;
  /** Data that the parser itself brought. */
  inline(bytes: Uint8Array, offset: number): void;
  /** A job's end: it may have found zeros that the target must be told of. */
  jobDone(result: JobResult): void;
  /** A good moment to zero what was gathered: called between batches. */
  settle(): Promise<void>;
}

export function diskOutlet(target: Target, pool: JobPool, zeros: ZeroRanges): DiskOutlet {
  return {
    pool,
    checkFits(end) {
      const { capacity, name } = target;
      if (capacity === undefined || end <= capacity) return;
      throw new TargetError("TARGET_TOO_SMALL", `the disk does not fit ${name}, which holds ${capacity} bytes`, {
        context: { capacity, end },
      });
    },
    zero: (offset, length) => zeros.add(offset, length),
    settle: () => zeros.settle(),
    inline: (bytes, offset) => target.writeAt(bytes, offset),
    jobDone: ({ zeroRanges }) => {
      for (let i = 0; i < zeroRanges.length; i += 2) zeros.add(zeroRanges[i] ?? 0, zeroRanges[i + 1] ?? 0);
    },
  };
}
