/**
 * Reading from inside the walk of an archive: like Parsing, but sent `undefined` after a member is announced, which a
 * reader never does. A file that ends too early is reported here, so that it is FORMAT_CORRUPT whoever drives.
 */
import type { Need } from "../../disk-format.ts";
import { FormatError } from "../../errors.ts";

/** A part of a walk that asks for bytes and announces nothing. */
export type Reading<T> = Generator<Need, T, Uint8Array | undefined>;

/** How much of a long header is asked for at once. */
const STEP = 1024 * 1024;

/** Up to `length` bytes: fewer only at the end of the archive. Valid until the next yield. */
export function* readUpTo(offset: number, length: number): Reading<Uint8Array> {
  const bytes = yield { offset, length, shortAtEnd: true };
  if (bytes === undefined) throw new Error("a Need was not answered");
  return bytes;
}

/**
 * Exactly `length` bytes, in a copy of its own.
 * @param length checked against a limit by the caller
 * @param what names the structure in the message
 * @throws FormatError FORMAT_CORRUPT if the archive ends before
 */
export function* readCopy(offset: number, length: number, what: string): Reading<Uint8Array> {
  const copy = new Uint8Array(length);
  for (let at = 0; at < length; at += STEP) {
    const asked = Math.min(STEP, length - at);
    const bytes = yield* readUpTo(offset + at, asked);
    if (bytes.length < asked) throw endsInside(offset + at + bytes.length, what);
    copy.set(bytes, at);
  }
  return copy;
}

export function endsInside(offset: number, what: string): FormatError {
  return new FormatError("FORMAT_CORRUPT", `the archive ends at ${offset}, inside ${what}`, {
    remedy: "Get the archive again; it is cut short.",
    context: { offset },
  });
}
