/**
 * How long to wait before a request is made again. Pure: the clock and chance come from outside.
 *
 * The wait doubles with each attempt and half of it is left to chance, so that many importers that lost one server at the
 * same moment do not come back at the same moment. A server that says when (Retry-After, RFC 9110 10.2.3) is obeyed up to a
 * limit.
 */

/** How often one request is made, and how many connections in a row may be in vain. */
export const MAX_ATTEMPTS = 6;

/** A connection that brought fewer bytes than this was in vain, or a server that cuts after each byte would go on for ever. */
export const WORTHWHILE_LENGTH = 64 * 1024;

const FIRST_DELAY_MS = 250;
const MAX_DELAY_MS = 10_000;
/** What a server may ask for; a hostile one would ask for a year. */
const MAX_RETRY_AFTER_MS = 60_000;

/**
 * @param attempt      how many were made, from 1 on
 * @param random       in [0, 1)
 * @param retryAfterMs what the server asked for
 */
export function retryDelayMs(attempt: number, random: number, retryAfterMs: number | undefined): number {
  const full = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 1));
  const ownMs = Math.round(full / 2 + (full / 2) * random);
  return Math.max(ownMs, Math.min(MAX_RETRY_AFTER_MS, retryAfterMs ?? 0));
}

/** Seconds or a date; undefined if the header is missing or means nothing. */
export function parseRetryAfter(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header) * 1000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}
