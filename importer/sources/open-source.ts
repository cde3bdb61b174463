/**
 * Which source a name on the command line means.
 */
import { UsageError } from "../errors.ts";
import type { HttpOptions } from "../http/http-options.ts";
import { BLANK, openBlank } from "./blank.ts";
import { openFile } from "./file.ts";
import type { Source } from "./source.ts";
import { openStandardInput } from "./standard-input.ts";

/** `scheme://`, of two letters at least; a file name with a colon is written `./name`. */
const SCHEME = /^([a-z][a-z0-9+.-]+):\/\//i;

/** Of container images; a file of such a name is written `./oci-archive:…`. */
const IMAGE = /^(?:docker:\/\/|oci-archive:)/i;

/** What an http(s) URL may lead to: a file, or an object or image behind a service's own protocol. */
export const URL_KINDS = ["http", "s3", "gcs", "registry"] as const;

export type UrlKind = (typeof URL_KINDS)[number];

export interface SourceOptions {
  /** For the credentials of clouds. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** How the network is reached. */
  readonly http: HttpOptions;
  /** The disk's format was named, so what comes is taken for it. */
  readonly formatNamed: boolean;
  /** Of an http(s) URL; undefined: `http`. */
  readonly kind?: UrlKind | undefined;
  /** Of an S3 bucket. */
  readonly region?: string | undefined;
  /** Which of a container image's to take, as its index names it. */
  readonly architecture?: string | undefined;
  /** Which file of a container image, which blob of an artifact. */
  readonly member?: string | undefined;
}

export function isHttpUrl(name: string): boolean {
  return /^https?:\/\//i.test(name);
}

/** @throws UsageError for a scheme nobody knows; SourceError, FormatError as the source says */
export async function openSource(name: string, options: SourceOptions): Promise<Source> {
  if (name === "-") return openStandardInput();
  if (name.startsWith(BLANK)) return openBlank(name);
  const kind = options.kind ?? "http";
  if (IMAGE.test(name) || (isHttpUrl(name) && kind === "registry")) return await openImage(name, options);
  const scheme = SCHEME.exec(name)?.[1]?.toLowerCase();
  if (scheme === undefined) return openFile(name);
  if (scheme === "s3" || (isHttpUrl(name) && kind === "s3")) return await openS3Object(name, options);
  if (scheme === "gs" || (isHttpUrl(name) && kind === "gcs")) return await openGcsObject(name, options);
  if (isHttpUrl(name)) return await openUrl(name, options);
  throw new UsageError(
    `sources of the kind ${scheme}:// are not supported; a path, -, http(s)://, s3://, gs:// and docker:// are`,
  );
}

/** The HTTP client is loaded for URLs only: it costs a local conversion 40 ms and 15 MB. */
async function openUrl(url: string, options: SourceOptions): Promise<Source> {
  const { HttpClient } = await import("../http/http-client.ts");
  const { openHttp } = await import("./http.ts");
  return await openHttp(url, new HttpClient(options.http), { allowsPages: options.formatNamed });
}

async function openS3Object(name: string, options: SourceOptions): Promise<Source> {
  const { openS3 } = await import("./s3.ts");
  return await openS3(name, { ...options, allowsPages: options.formatNamed });
}

async function openGcsObject(name: string, options: SourceOptions): Promise<Source> {
  const { openGcs } = await import("./gcs.ts");
  return await openGcs(name, { ...options, allowsPages: options.formatNamed });
}

async function openImage(name: string, options: SourceOptions): Promise<Source> {
  const { openContainerImage } = await import("./container-image.ts");
  return await openContainerImage(name, options);
}
