/**
 * Ranges of what a test's server serves, as a source would have found them.
 */
import { defaultHttpOptions } from "../../importer/http/http-options.ts";
import type { HttpOptions } from "../../importer/http/http-options.ts";
import { Place } from "../../importer/http/place.ts";
import type { ReadSpec } from "../../importer/random-access.ts";
import type { RemoteRanges } from "../../importer/sources/source.ts";

/** Of a server that says `etag: "one"`. */
export function remoteSpec(url: string, size: number, options: Partial<HttpOptions> = {}): ReadSpec {
  return { name: url, size, remote: remoteRanges(url, size, options) };
}

/** The same, apart from the file. */
export function remoteRanges(url: string, size: number, options: Partial<HttpOptions> = {}): RemoteRanges {
  const representation = {
    size,
    validator: '"one"',
    etag: '"one"',
    lastModified: undefined,
    ranges: "bytes",
    contentType: undefined,
  } as const;
  const http = { ...defaultHttpOptions, ...options };
  return structuredClone({ http, spec: { place: Place.parse(url).spec, representation } });
}
