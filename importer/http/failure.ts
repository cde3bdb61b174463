/**
 * What went wrong with a request, in our codes, and whether the same request may be made again.
 */
import { SourceError } from "../errors.ts";
import type { SourceErrorCode } from "../errors.ts";
import { nodeHttp } from "./node-http.ts";
import type { Place } from "./place.ts";
import { codeOf, reasonOf } from "./redact.ts";
import { parseRetryAfter } from "./retry-delay.ts";
import type { AnswerHeaders } from "./representation.ts";

export interface Failure {
  readonly error: SourceError;
  /** The same request may succeed in a moment. */
  readonly mayRetry: boolean;
  /** What the server asked for. */
  readonly retryAfterMs?: number | undefined;
}

/** OpenSSL's reasons to refuse a certificate, Node.js's own, and a handshake that did not come about. */
const TLS_CODES =
  /^(ERR_TLS_|ERR_SSL_|CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERROR_IN_C|INVALID_|PATH_LENGTH_|HOSTNAME_MISMATCH$|EPROTO$)/;

const PASSING_CODES = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ECONNABORTED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENETDOWN",
  "EPIPE",
  "ETIMEDOUT",
  "EAI_AGAIN",
  "ERR_STREAM_PREMATURE_CLOSE",
]);

/** The name of a failure that this client makes itself: what a proxy answered to CONNECT. */
export const PROXY_STATUS = "PROXY_STATUS_";

/**
 * A request without an answer, or a body that broke off.
 * @param proxy that stands between, so that who reads of a refusal knows that it may be the proxy's
 */
export function connectionFailure(error: unknown, place: Place, proxy?: URL): Failure {
  const code = codeOf(error) ?? "";
  if (code.startsWith(PROXY_STATUS)) return proxyFailure(Number(code.slice(PROXY_STATUS.length)), place);
  const reason = reasonOf(error);
  if (TLS_CODES.test(code)) {
    const message = `the TLS connection to ${place.current.host} was refused: ${reason}`;
    return {
      error: new SourceError("SOURCE_TLS", message, { remedy: TLS_REMEDY, context: { reason: code } }),
      mayRetry: false,
    };
  }
  // The error of node-fetch holds the URL with its query; only the reason goes on.
  const cause = Object.assign(new Error(reason), code === "" ? {} : { code });
  const by = proxy === undefined ? "" : ` through the proxy ${proxy.host}`;
  const failed = new SourceError("SOURCE_UNAVAILABLE", `cannot read ${place.name}${by}`, {
    cause,
    context: { errno: code, ...(proxy === undefined ? {} : { proxy: true }) },
  });
  return { error: failed, mayRetry: PASSING_CODES.has(code) };
}

const TLS_REMEDY = "Give the certificate of its authority, or switch verification off.";

export function stallFailure(place: Place, limitMs: number): Failure {
  const message = `${place.name} gave no byte for ${limitMs / 1000} seconds`;
  return { error: new SourceError("SOURCE_UNAVAILABLE", message, { context: { stalled: true } }), mayRetry: true };
}

function proxyFailure(status: number, place: Place): Failure {
  const message = `the proxy does not connect to ${place.current.host}: it answers ${statusText(status)}`;
  const context = { status, proxy: true };
  if (status === 407)
    return { error: new SourceError("SOURCE_DENIED", message, { remedy: PROXY_REMEDY, context }), mayRetry: false };
  return { error: new SourceError("SOURCE_UNAVAILABLE", message, { context }), mayRetry: isPassingStatus(status) };
}

const PROXY_REMEDY = "Put user and password into the proxy's URL.";

/**
 * An answer that is none of those that were hoped for.
 * @param nowMs      for a Retry-After that is a date
 * @param asRegistry of HttpOptions
 */
export function statusFailure(
  { status, headers }: { readonly status: number; readonly headers: AnswerHeaders },
  place: Place,
  nowMs: number,
  asRegistry = false,
): Failure {
  const remedy = remedyFor(status, headers, place, asRegistry);
  const error = new SourceError(codeFor(status), `${place.name} answers ${statusText(status)}`, {
    ...(remedy === undefined ? {} : { remedy }),
    context: { status },
  });
  const mayRetry = isPassingStatus(status);
  return { error, mayRetry, retryAfterMs: mayRetry ? parseRetryAfter(headers.get("retry-after"), nowMs) : undefined };
}

/** The server's own words are not repeated: they are a stranger's text. */
function statusText(status: number): string {
  const text = nodeHttp().STATUS_CODES[status];
  return text === undefined ? String(status) : `${status} ${text}`;
}

function codeFor(status: number): SourceErrorCode {
  if (status === 401 || status === 403 || status === 407) return "SOURCE_DENIED";
  if (status === 404 || status === 410) return "SOURCE_NOT_FOUND";
  return "SOURCE_UNAVAILABLE";
}

function isPassingStatus(status: number): boolean {
  return status === 408 || status === 429 || status === 500 || status === 502 || status === 503 || status === 504;
}

function remedyFor(status: number, headers: AnswerHeaders, place: Place, asRegistry: boolean): string | undefined {
  if (status === 407) return PROXY_REMEDY;
  if (codeFor(status) === "SOURCE_UNAVAILABLE") return undefined;
  const challenge = headers.get("www-authenticate") ?? "";
  const isRegistry = /^\s*bearer\b.*\bservice=/i.test(challenge) || /^\/v2(\/|$)/.test(place.first.pathname);
  if (isRegistry && !asRegistry)
    return `This looks like a container registry: name the image as docker://${place.first.host}/NAME:TAG.`;
  return codeFor(status) === "SOURCE_DENIED"
    ? "Check user and password, or whether a signed URL has expired."
    : undefined;
}
