/**
 * Asking for bytes in a way that serves random access and a single pass.
 *
 * `extents` is always sent bytes, `scan` is also sent undefined (after it announced extents). A generator written as
 * `Asking<T>` can be delegated to from both.
 */
import type { Need } from "./disk-format.ts";

/** A `Parsing<T>` that may be used inside `scan` too. */
export type Asking<T> = Generator<Need, T, Uint8Array | undefined>;

/** Yields `need` and returns the bytes, which are valid until the next yield only. */
export function* ask(need: Need): Asking<Uint8Array> {
  const bytes = yield need;
  if (bytes === undefined) throw new Error(`a need at ${need.offset} was answered with nothing`);
  return bytes;
}
