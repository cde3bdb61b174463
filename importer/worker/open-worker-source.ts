/**
 * Which source the configuration means, opened. Each loads with its libraries when it is asked for.
 */
import type { DecodeOptions } from "../../formats/codecs/codec.ts";
import { requireChecksum, requireEndpoint } from "../config.ts";
import type { Environment, SourceKind, WorkerConfig } from "../config.ts";
import type { HttpOptions } from "../http/http-options.ts";
import { plainText } from "../http/redact.ts";
import { labelsFromEnvironment } from "../labels.ts";
import type { ImageLabels } from "../labels.ts";
import type { OpenS3Options } from "../sources/s3.ts";
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
  /** How a container image's layers are decompressed. */
  readonly decoding: DecodeOptions;
  readonly signal: AbortSignal;
  readonly log: Log;
}

/** @throws SourceError, FormatError, UsageError: the worker cannot connect; Interrupted */
export async function openWorkerSource(kind: ImageSourceKind, options: OpenWorkerSourceOptions): Promise<WorkerSource> {
  const endpoint = requireEndpoint(options.config);
  requireChecksum(options.config);
  const http = connectionOf(options.config);
  // Headers that a claim asks for are for a web server.
  const bare: HttpOptions = { ...http, headers: [] };
  return await OPENERS[kind](endpoint, kind === "http" ? http : bare, options);
}

/** The disk is done, and the container beside this one answers at once or never. */
const LABELS_STALL_MS = 5000;

/** Tests of CDI look for it in their proxy's log. */
const REGISTRY_TUNNEL_USER_AGENT = "Go-http-client/1.1";

type Opener = (endpoint: string, http: HttpOptions, options: OpenWorkerSourceOptions) => Promise<WorkerSource>;

const OPENERS: Readonly<Record<ImageSourceKind, Opener>> = {
  http: openWeb,
  s3: openBucket,
  gcs: openGoogleBucket,
  registry: openImage,
  imageio: openOvirt,
  vddk: openVmware,
};

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
  return {
    source,
    async labels() {
      const asking = new HttpClient({ ...http, stallMs: Math.min(http.stallMs, LABELS_STALL_MS) });
      try {
        return await readImageLabels(endpoint, asking);
      } finally {
        asking.close();
      }
    },
  };
}

async function openBucket(name: string, http: HttpOptions, options: OpenWorkerSourceOptions): Promise<WorkerSource> {
  const { openS3 } = await import("../sources/s3.ts");
  const { env, config } = options;
  return { source: await openS3(name, { http, credentials: awsKeys(config), env, allowsPages: false }) };
}

/** Undefined: whatever the pod's service account brings, else nobody's. */
function awsKeys({ accessKey, secretKey, sessionToken }: WorkerConfig): OpenS3Options["credentials"] {
  if (accessKey === undefined || secretKey === undefined) return undefined;
  return { accessKeyId: accessKey, secretAccessKey: secretKey, sessionToken };
}

async function openGoogleBucket(
  name: string,
  http: HttpOptions,
  { env, config }: OpenWorkerSourceOptions,
): Promise<WorkerSource> {
  const { openGcs } = await import("../sources/gcs.ts");
  const { googleCredentials: credentialsFile } = config;
  // What the node may read is not for everybody who may make a claim.
  const options = { http, credentialsFile, usesMachine: false, env, allowsPages: false };
  return { source: await openGcs(name, options) };
}

async function openImage(name: string, bare: HttpOptions, options: OpenWorkerSourceOptions): Promise<WorkerSource> {
  const { openContainerImage } = await import("../sources/container-image.ts");
  const { config, env, decoding } = options;
  const http = { ...bare, tunnelUserAgent: REGISTRY_TUNNEL_USER_AGENT };
  const { architecture, insecureTls: insecure, secretKey: pullSecret } = config;
  const source = await openContainerImage(name, { http, pullSecret, architecture, insecure, env, decoding });
  return { source, labels: () => Promise.resolve(labelsFromEnvironment(source.environment)) };
}

async function openOvirt(endpoint: string, http: HttpOptions, options: OpenWorkerSourceOptions): Promise<WorkerSource> {
  const { openImageio } = await import("../sources/imageio.ts");
  const { signal, config } = options;
  const { accessKey: user = "", secretKey: password = "", diskId = "", checkpoint } = config;
  return { source: await openImageio({ http, endpoint, user, password, diskId, checkpoint, signal }) };
}

async function openVmware(_: string, __: HttpOptions, options: OpenWorkerSourceOptions): Promise<WorkerSource> {
  const { config, env, signal } = options;
  const { openVddk } = await import("../sources/vddk.ts");
  const { uuid = "", backingFile = "", checkpoint, nbdkitSocket: socket, stallMs } = config;
  const machine = { arch: process.arch, searchPath: env["PATH"] };
  return { source: await openVddk({ uuid, backingFile, checkpoint, socket, stallMs, signal, ...machine }) };
}
