/**
 * Which source the configuration means, opened. Each loads with its libraries when it is asked for.
 */
import { requireChecksum, requireEndpoint } from "../config.ts";
import type { Environment, SourceKind, WorkerConfig } from "../config.ts";
import { UsageError } from "../errors.ts";
import type { HttpOptions } from "../http/http-options.ts";
import { plainText } from "../http/redact.ts";
import type { ImageLabels } from "../labels.ts";
import type { Source } from "../sources/source.ts";
import { connectionOf } from "./connection.ts";
import { readImageLabels } from "./image-info.ts";
import { contractLines } from "./log.ts";
import type { Log } from "./log.ts";
import { endpointOfDisk } from "./ready-file.ts";

/** The kinds that have an image. */
export type ImageSourceKind = Exclude<SourceKind, "none">;

export interface WorkerSource {
  readonly source: Source;
  /** Of the container image that the disk came in, asked for once it is imported; undefined: there is none. */
  readonly labels?: () => Promise<ImageLabels>;
}

export interface OpenWorkerSourceOptions {
  readonly config: WorkerConfig;
  /** Of the disk's file, where a container beside the worker serves it. */
  readonly servedName: Uint8Array | undefined;
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

async function openWeb(named: string, http: HttpOptions, options: OpenWorkerSourceOptions): Promise<WorkerSource> {
  const { config, servedName, log } = options;
  const { HttpClient } = await import("../http/http-client.ts");
  const { openHttp } = await import("../sources/http.ts");
  const client = new HttpClient(http);
  const endpoint = servedName === undefined ? named : endpointOfDisk(named, servedName);
  const source = await openHttp(endpoint, client, { allowsPages: false });
  const type = source.contentType ?? "";
  if (config.contentType === "kubevirt" && /^\s*text\//i.test(type)) {
    log.warn(contractLines.contentType(plainText(type)));
  }
  if (!config.nodePull) return { source };
  return { source, labels: async () => await readImageLabels(endpoint, new HttpClient(http)) };
}
