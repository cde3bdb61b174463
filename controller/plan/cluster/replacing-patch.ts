/**
 * A merge patch that makes one map equal to another. A patch that names only what is wanted would leave behind what is not.
 */
import type { MergePatch } from "../action.ts";
import { isMap, onlyChanges } from "../draft.ts";

/** @returns undefined where they are equal already */
export function replacingPatch(current: object | undefined, wanted: object): MergePatch | undefined {
  return onlyChanges(current ?? {}, withRemovals(current ?? {}, wanted));
}

function withRemovals(current: object, wanted: object): MergePatch {
  const removed = Object.keys(current).filter((key) => (wanted as MergePatch)[key] === undefined);
  return {
    ...Object.fromEntries(removed.map((key) => [key, null])),
    ...Object.fromEntries(
      Object.entries(wanted)
        .filter(([, value]) => value !== undefined)
        .map(([key, value]: [string, unknown]) => {
          const before: unknown = (current as MergePatch)[key];
          return [key, isMap(value) ? withRemovals(isMap(before) ? before : {}, value) : value];
        }),
    ),
  };
}
