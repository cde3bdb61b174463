/**
 * What of a URL or of a failed request may be shown: scheme, host, port and path.
 *
 * User info is a password, a query string is often a signature, a header is often a token. None of them gets into a message,
 * a context or a cause, so no error of `node-fetch` is passed on as it is: its text holds the whole URL.
 */

/** Longest text of another program's that is repeated. */
const MAX_TEXT_LENGTH = 400;

/** `scheme://host:port/path`. What is no URL is not shown at all: nobody can tell which part of it is the password. */
export function redactUrl(url: string | URL): string {
  const parsed = typeof url === "string" ? URL.parse(url) : url;
  return parsed === null ? "a URL that cannot be read" : `${parsed.protocol}//${parsed.host}${parsed.pathname}`;
}

/** Text from a server or a library, on one line and not endless. */
export function plainText(text: string): string {
  // eslint-disable-next-line no-control-regex -- control characters are what it is about
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, " ").slice(0, MAX_TEXT_LENGTH);
}

/** What `node-fetch` puts before the reason; a URL holds no blank, so the first one is its own. */
const REASON = ", reason: ";

/** Why a request failed, in the words of the system, without the URL. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  const start = error.message.indexOf(REASON);
  const code = codeOf(error) ?? "unknown";
  // Any other text may hold what must not be shown, so it is not.
  const text = start === -1 ? systemText(error, code) : error.message.slice(start + REASON.length);
  return text === "" ? code : plainText(text);
}

/** The system's or the library's name of a failure: `ECONNREFUSED`, `CERT_HAS_EXPIRED`. */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

function systemText(error: Error, code: string): string {
  return "syscall" in error || error.message === "aborted" ? error.message : code;
}
