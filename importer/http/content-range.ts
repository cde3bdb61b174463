/**
 * The Content-Range header of a 206 or 416 answer. RFC 9110 14.4.
 */

export interface ContentRange {
  /** Half open: `[start, end)`; undefined in a 416 (`bytes *\/1000`). */
  readonly start: number | undefined;
  readonly end: number | undefined;
  /** Bytes of the whole; undefined where the server does not say. */
  readonly total: number | undefined;
}

/** Undefined if the header is missing, of another unit, contradicts itself, or has numbers beyond 2^53 - 1. */
export function parseContentRange(header: string | null): ContentRange | undefined {
  const parts = /^\s*bytes\s+(?:(\d+)-(\d+)|\*)\/(?:(\d+)|\*)\s*$/i.exec(header ?? "");
  if (parts === null) return undefined;
  const total = parts[3] === undefined ? undefined : Number(parts[3]);
  if (total !== undefined && !Number.isSafeInteger(total)) return undefined;
  if (parts[1] === undefined) return { start: undefined, end: undefined, total };
  const start = Number(parts[1]);
  const end = Number(parts[2]) + 1;
  if (!Number.isSafeInteger(end) || start >= end || (total !== undefined && end > total)) return undefined;
  return { start, end, total };
}
