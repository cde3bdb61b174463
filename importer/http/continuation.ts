/**
 * Whether an answer to a request for a range is the rest of what was read before. Only a 206 of the same bytes is, at exactly
 * the offset that was asked for; everything else names why not.
 */
import { SourceError } from "../errors.ts";
import { parseContentRange } from "./content-range.ts";
import type { Answer } from "./http-client.ts";
import type { Place } from "./place.ts";
import { contentLength, isSame, representationOf } from "./representation.ts";
import type { Representation } from "./representation.ts";

/** What an answer may be when a range was asked for. */
export const RANGE_STATUSES: readonly number[] = [200, 206, 412, 416];

export interface RangeAnswer {
  /** Where the body ends, exclusive; at most what was asked for, and perhaps less. */
  readonly end: number;
  /** Bytes of the whole, where one of the answers said so. */
  readonly total: number | undefined;
}

/** @param range `end` undefined: to the last byte */
export function rangeHeaders(
  range: { readonly start: number; readonly end: number | undefined },
  whole: Representation,
): Record<string, string> {
  const last = range.end === undefined ? "" : String(range.end - 1);
  const headers = { Range: `bytes=${range.start}-${last}` };
  return whole.validator === undefined ? headers : { ...headers, "If-Range": whole.validator };
}

/**
 * @param whole what the first answer said
 * @throws SourceError SOURCE_CHANGED if the bytes are others by now, SOURCE_TRUNCATED if the server serves no ranges,
 *         SOURCE_UNAVAILABLE if it serves another one
 */
export function checkRangeAnswer(
  answer: Pick<Answer, "status" | "headers">,
  range: { readonly start: number; readonly end: number | undefined },
  whole: Representation,
  place: Place,
): RangeAnswer {
  const now = representationOf(answer.headers, 0);
  if (!isSame(whole, now) || answer.status === 412) throw changed(place, "it is another file than before");
  if (answer.status === 200) {
    if (whole.size !== now.size) throw changed(place, "its length is another than before");
    // The server sent all of it because it would not compare, or because it compared: only its validator tells which.
    if (now.validator === undefined || whole.validator === undefined)
      throw changed(place, "it may be another file than before");
    throw noRanges(place);
  }
  const said = parseContentRange(answer.headers.get("content-range"));
  if (said?.total !== undefined && whole.size !== undefined && said.total !== whole.size) {
    throw changed(place, `it has ${said.total} bytes and had ${whole.size}`);
  }
  if (answer.status === 416) throw changed(place, `it does not reach byte ${range.start} any more`);
  const length = contentLength(answer.headers);
  if (
    said?.start !== range.start ||
    said.end === undefined ||
    said.end > (range.end ?? Infinity) ||
    (length !== undefined && length !== said.end - said.start)
  ) {
    throw new SourceError("SOURCE_UNAVAILABLE", `${place.name} answers with another range than the one asked for`, {
      context: { restart: "from-zero", ranges: "unusable", offset: range.start },
    });
  }
  return { end: said.end, total: said.total ?? whole.size };
}

export function changed(place: Place, how: string): SourceError {
  return new SourceError("SOURCE_CHANGED", `${place.name} changed while it was read: ${how}`, {
    context: { restart: "from-zero", ranges: "unusable" },
  });
}

/** The server sends all of it or nothing. */
export function noRanges(place: Place): SourceError {
  return new SourceError("SOURCE_TRUNCATED", `${place.name} broke off, and its server cannot continue where it did`, {
    context: { restart: "from-zero", ranges: "unusable" },
  });
}
