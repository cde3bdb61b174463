/**
 * What a server says about the bytes it serves, and whether a later answer speaks of the same ones.
 *
 * Two answers may be put together only if something vouches for it. A strong ETag does (RFC 9110 8.8.3); so does a
 * Last-Modified date that is a minute old or more when it is served, for a file that changes twice within its resolution
 * shows the same date (8.8.2.2). A weak ETag says "as good as the same", which is not enough for a disk.
 */

/** Plain data, so that threads can share it. */
export interface Representation {
  /** Bytes; undefined where only the end tells. */
  readonly size: number | undefined;
  /** What If-Range asks for: a strong ETag or an old enough date; undefined: nothing vouches. */
  readonly validator: string | undefined;
  readonly etag: string | undefined;
  readonly lastModified: string | undefined;
  /** The Accept-Ranges header: `unsaid` is worth a try. */
  readonly ranges: "bytes" | "none" | "unsaid";
  /** The server's word for what it serves; it decides nothing. */
  readonly contentType: string | undefined;
}

/** The headers of an answer, as `node-fetch` and the web have them. */
export interface AnswerHeaders {
  get(name: string): string | null;
}

/** How old a date has to be to vouch. */
const SETTLED_MS = 60_000;

const STRONG_ETAG = /^"[\x21\x23-\x7e\x80-\xff]*"$/;

/** @param nowMs used where the server does not say what time it is */
export function representationOf(headers: AnswerHeaders, nowMs: number): Representation {
  const etag = headers.get("etag") ?? undefined;
  const lastModified = headers.get("last-modified") ?? undefined;
  const strong = etag !== undefined && STRONG_ETAG.test(etag) ? etag : undefined;
  const served = Date.parse(headers.get("date") ?? "");
  const settled = isSettled(lastModified, Number.isNaN(served) ? nowMs : served) ? lastModified : undefined;
  return {
    size: contentLength(headers),
    validator: strong ?? settled,
    etag,
    lastModified,
    ranges: rangesOf(headers),
    contentType: headers.get("content-type") ?? undefined,
  };
}

/** Undefined if it is missing or no number of ours. */
export function contentLength(headers: AnswerHeaders): number | undefined {
  const text = headers.get("content-length") ?? "";
  return /^\d+$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : undefined;
}

/** Whether `later` may be of the same bytes as `first`; a header that one of them lacks says nothing. */
export function isSame(first: Representation, later: Representation): boolean {
  const differ = (a: string | undefined, b: string | undefined) => a !== undefined && b !== undefined && a !== b;
  return !differ(first.etag, later.etag) && !differ(first.lastModified, later.lastModified);
}

function isSettled(lastModified: string | undefined, servedMs: number): boolean {
  const modified = Date.parse(lastModified ?? "");
  return !Number.isNaN(modified) && servedMs - modified >= SETTLED_MS;
}

function rangesOf(headers: AnswerHeaders): Representation["ranges"] {
  const units = (headers.get("accept-ranges") ?? "").toLowerCase().split(/[\s,]+/);
  if (units.includes("bytes")) return "bytes";
  return units.includes("none") ? "none" : "unsaid";
}
