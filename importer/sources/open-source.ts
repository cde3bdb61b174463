/**
 * Which source a name on the command line means.
 */
import { UsageError } from "../errors.ts";
import type { HttpOptions } from "../http/http-options.ts";
import { openFile } from "./file.ts";
import type { Source } from "./source.ts";
import { openStandardInput } from "./standard-input.ts";

/** `scheme://`, of two letters at least; a file name with a colon is written `./name`. */
const SCHEME = /^([a-z][a-z0-9+.-]+):\/\//i;

export interface SourceOptions {
  /** For the credentials of clouds. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** How the network is reached. */
  readonly http: HttpOptions;
  /** The disk's format was named, so what comes is taken for it. */
  readonly formatNamed: boolean;
}

/** @throws UsageError for a scheme nobody knows; SourceError, FormatError as the source says */
export async function openSource(name: string, options: SourceOptions): Promise<Source> {
  if (name === "-") return openStandardInput();
  const scheme = SCHEME.exec(name)?.[1]?.toLowerCase();
  if (scheme === undefined) return openFile(name);
  if (scheme === "http" || scheme === "https") return await openUrl(name, options);
  throw new UsageError(`sources of the kind ${scheme}:// are not supported; a path, - and http(s):// are`);
}

/** The HTTP client is loaded for URLs only: it costs a local conversion 40 ms and 15 MB. */
async function openUrl(url: string, options: SourceOptions): Promise<Source> {
  const { HttpClient } = await import("../http/http-client.ts");
  const { openHttp } = await import("./http.ts");
  return await openHttp(url, new HttpClient(options.http), { allowsPages: options.formatNamed });
}
