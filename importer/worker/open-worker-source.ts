/**
 * Which source the configuration means, opened. Each loads with its libraries when it is asked for.
 */
import { requireChecksum, requireEndpoint } from "../config.ts";
import type { Environment, SourceKind, WorkerConfig } from "../config.ts";
import { UsageError } from "../errors.ts";
import type { HttpOptions } from "../http/http-options.ts";
import { plainText } from "../http/redact.ts";
import type { Source } from "../sources/source.ts";
import { connectionOf } from "./connection.ts";
import { contractLines } from "./log.ts";
import type { Log } from "./log.ts";

/** The kinds that have an image. */
export type ImageSourceKind = Exclude<SourceKind, "none">;

export interface WorkerSource {
  readonly source: Source;
  /** `NAME=value` lines of the container image that the disk came in, once it is imported; undefined: there is none. */
  readonly imageEnvironment?: () => Promise<readonly string[]>;
}

export interface OpenWorkerSourceOptions {
  readonly config: WorkerConfig;
  readonly env: Environment;
  readonly log: Log;
}

/** @throws SourceError, FormatError, UsageError: the worker cannot connect */
export async function openWorkerSource(kind: ImageSourceKind, options: OpenWorkerSourceOptions): Promise<WorkerSource> {
  const { config } = options;
  const endpoint = requireEndpoint(config);
  requireChecksum(config);
  const http = connectionOf(config);
  if (kind === "http") return await openWeb(endpoint, http, options);
  throw new UsageError(`the source ${kind} is not supported yet`);
}

async function openWeb(endpoint: string, http: HttpOptions, options: OpenWorkerSourceOptions): Promise<WorkerSource> {
  const { HttpClient } = await import("../http/http-client.ts");
  const { openHttp } = await import("../sources/http.ts");
  const source = await openHttp(endpoint, new HttpClient(http), { allowsPages: false });
  const type = source.contentType ?? "";
  if (options.config.contentType === "kubevirt" && /^\s*text\//i.test(type)) {
    options.log.warn(contractLines.contentType(plainText(type)));
  }
  return { source };
}
