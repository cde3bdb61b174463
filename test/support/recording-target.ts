/**
 * A target that keeps its disk in memory and notes what was asked of it, in order.
 */
import { NULL_TARGET, openNullTarget } from "../../importer/targets/null.ts";
import type { Target } from "../../importer/targets/target.ts";

export type Call = readonly [name: "zero" | "write" | "resize", offset: number, length: number];

export interface RecordingTarget extends Target {
  readonly calls: readonly Call[];
  /** Starts as 0xee everywhere, unless it starts zeroed. */
  readonly disk: Buffer;
}

export interface RecordingOptions {
  readonly size?: number;
  readonly startsZeroed?: boolean;
  /** `zeroAt` answers false. */
  readonly declines?: boolean;
}

export function recordingTarget(options: RecordingOptions = {}): RecordingTarget {
  const startsZeroed = options.startsZeroed ?? false;
  const disk = Buffer.alloc(options.size ?? 0, startsZeroed ? 0 : 0xee);
  const calls: Call[] = [];
  return {
    ...openNullTarget(),
    name: `recorded ${NULL_TARGET}`,
    startsZeroed,
    calls,
    disk,
    writeAt(bytes, offset) {
      calls.push(["write", offset, bytes.length]);
      disk.set(bytes.subarray(0, Math.max(0, disk.length - offset)), offset);
    },
    readAt(into, offset) {
      const bytes = disk.subarray(offset, offset + into.length);
      into.set(bytes);
      return bytes.length;
    },
    zeroAt(offset, length) {
      calls.push(["zero", offset, length]);
      if (options.declines === true) return false;
      disk.fill(0, offset, Math.min(disk.length, offset + length));
      return true;
    },
    resize: (size) => void calls.push(["resize", size, 0]),
  };
}
