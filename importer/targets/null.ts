/**
 * `null:`, a target that keeps nothing: decode and throw away, to check an image or to measure.
 */
import { UsageError } from "../errors.ts";
import type { Target } from "./target.ts";

export const NULL_TARGET = "null:";

export function openNullTarget(): Target {
  return {
    kind: "null",
    name: NULL_TARGET,
    startsZeroed: true,
    sectorSize: 1,
    capacity: undefined,
    writer: undefined,
    notes: [],
    begin: nothing,
    writeAt: nothing,
    readAt() {
      throw new UsageError(`${NULL_TARGET} keeps nothing that could be read again`);
    },
    nextData: (offset) => offset,
    zeroAt: () => true,
    resize: nothing,
    flush: nothing,
    commit: nothing,
    abort: nothing,
  };
}

function nothing(): void {
  // nothing is kept
}
