/**
 * The headers of a request: ours, those of the user, those of the request itself, and who asks. A redirect target of another
 * origin gets none of the user's.
 */
import { UsageError } from "../errors.ts";
import { basicAuthorizer } from "./authorization.ts";
import type { Authorizer, Method } from "./authorization.ts";
import type { HttpOptions } from "./http-options.ts";
import { nodeHttp } from "./node-http.ts";
import type { Place } from "./place.ts";
import type { Hop } from "./redirects.ts";

export interface Asker {
  readonly options: HttpOptions;
  readonly authorizer: Authorizer;
}

/**
 * Names and values, ready to be sent. Those of the user win over ours, and those of the request itself over both: two ranges
 * would be none.
 * @throws SourceError where there are no credentials to be had
 */
export async function requestHeaders(
  { options, authorizer }: Asker,
  place: Place,
  hop: Hop,
  request: { readonly method: Method; readonly headers?: Readonly<Record<string, string>> },
): Promise<[string, string][]> {
  const own: [string, string][] = [
    ["User-Agent", options.userAgent],
    ["Accept", "*/*"],
    // Bytes as they are stored: those that are counted, hashed and asked for by range.
    ["Accept-Encoding", "identity"],
  ];
  const asked = Object.entries(request.headers ?? {});
  if (!hop.isTrusted) return merged(own, asked);
  const extra = options.headers.map(([name, value]): [string, string] => [name, value.trim()]);
  const unsigned = merged(own, merged(extra, asked));
  const asking = place.auth === undefined ? authorizer : basicAuthorizer(place.auth);
  const auth = await asking.headers({ method: request.method, url: hop.url, headers: unsigned });
  return merged(
    auth.map(([name, value]): [string, string] => [name, value]),
    unsigned,
  );
}

/** @throws UsageError for a header of the user that HTTP does not allow */
export function checkHeaders({ headers }: HttpOptions): void {
  if (headers.every(([name, value]) => isHeader(name, value.trim()))) return;
  // Neither name nor value is shown: a header without its colon is all name, and the secret is in it.
  throw new UsageError("an extra header has a name or a value that HTTP does not allow");
}

/** Whether HTTP allows both. */
export function isHeader(name: string, value: string): boolean {
  try {
    nodeHttp().validateHeaderName(name);
    nodeHttp().validateHeaderValue(name, value);
    return true;
  } catch {
    return false;
  }
}

/** All of `over`, and of `under` those with other names. */
function merged(under: readonly [string, string][], over: readonly [string, string][]): [string, string][] {
  const named = new Set(over.map(([name]) => name.toLowerCase()));
  return [...under.filter(([name]) => !named.has(name.toLowerCase())), ...over];
}
