/**
 * The worker's configuration: environment in, one typed, validated and frozen object out. Nothing else of the importer reads
 * a variable (settings.ts lists them). The names, defaults and what a malformed value does are CDI's contract; `DECANT_CONTROLLER` is our own.
 *
 * Only what must stop the worker before it can say a word is refused here (size, preallocation). What belongs to the source
 * or is answered with a text of its own (`requireEndpoint`, `requireSource`, `requireChecksum`) is asked for by its user.
 * The object holds credentials: it is never logged. `secretsOf` lists them for whoever redacts.
 */
import { parseChecksum } from "./checksum.ts";
import type { Checksum } from "./checksum.ts";
import { UsageError } from "./errors.ts";
import { quantityInBytes } from "./quantity.ts";
import { settings } from "./settings.ts";
import type { SettingName } from "./settings.ts";

export const SOURCE_KINDS = ["http", "s3", "gcs", "registry", "imageio", "vddk", "none"] as const;

export type SourceKind = (typeof SOURCE_KINDS)[number];

/** A header of the request for the image. Values of secret ones appear in no log. */
export interface ExtraHeader {
  readonly name: string;
  readonly value: string;
  readonly secret: boolean;
}

export interface WorkerConfig {
  /** As written; `requireSource` says whether it is one. */
  readonly source: string;
  readonly endpoint: string;
  /** `kubevirt` or `archive`; empty, or where the source does not ask for it, it is a disk. */
  readonly contentType: string;
  /** The claim's storage request, bytes; undefined: the disk keeps its image's size. */
  readonly imageSize: number | undefined;
  /** Value of the progress metric's label. */
  readonly ownerUid: string | undefined;
  readonly filesystemOverhead: number;
  readonly insecureTls: boolean;
  readonly preallocation: boolean;
  /** Write past the page cache where the target can. */
  readonly directIo: boolean;
  readonly accessKey: string | undefined;
  readonly secretKey: string | undefined;
  /** Of keys that are lent for a while, by AWS for instance. */
  readonly sessionToken: string | undefined;
  /** Path of a service account's JSON. */
  readonly googleCredentials: string | undefined;
  readonly certDir: string | undefined;
  readonly proxyCertDir: string;
  readonly proxy: {
    readonly http: string | undefined;
    readonly https: string | undefined;
    readonly none: string | undefined;
  };
  /** The environment's first, then those from files, each in the order it came. */
  readonly extraHeaders: readonly ExtraHeader[];
  readonly checksum: string | undefined;
  readonly architecture: string | undefined;
  readonly nodePull: boolean;
  readonly readyFile: string | undefined;
  readonly doneFile: string | undefined;
  readonly diskId: string | undefined;
  readonly uuid: string | undefined;
  readonly backingFile: string | undefined;
  readonly thumbprint: string | undefined;
  readonly checkpoint: {
    readonly current: string | undefined;
    readonly previous: string | undefined;
    readonly final: string | undefined;
  };
  /** Where an nbdkit serves a VMware disk. */
  readonly nbdkitSocket: string | undefined;
  /** How long no byte may come. */
  readonly stallMs: number;
  /** Our own controller listens: terminal errors are told apart from those worth a restart. */
  readonly ownController: boolean;
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** Headers that carry credentials wherever they were written. */
const SECRET_NAME = /auth|cookie|token|secret|key/i;

const EXTRA_HEADER_PREFIX = "IMPORTER_EXTRA_HEADER_";

/** Go's words for a truth value; nothing else is one. */
const TRUTHS: Readonly<Record<string, boolean>> = {
  "1": true,
  t: true,
  T: true,
  TRUE: true,
  true: true,
  True: true,
  "0": false,
  f: false,
  F: false,
  FALSE: false,
  false: false,
  False: false,
};

/**
 * @param env           the process's environment, in its order
 * @param secretHeaders contents of the files under /extraheaders, in the order that they are to be sent
 * @throws UsageError for a size or a preallocation that is malformed: the worker exits without a termination message
 */
export function readConfig(env: Environment, secretHeaders: readonly string[] = []): WorkerConfig {
  const text = (name: SettingName): string => env[name] ?? "";
  const given = (name: SettingName): string | undefined => (text(name) === "" ? undefined : text(name));
  const eitherCase = (name: SettingName): string | undefined => env[name.toUpperCase()] || given(name);
  const config: WorkerConfig = {
    source: text("IMPORTER_SOURCE"),
    endpoint: text("IMPORTER_ENDPOINT"),
    contentType: text("IMPORTER_CONTENTTYPE"),
    imageSize: readSize(text("IMPORTER_IMAGE_SIZE")),
    ownerUid: given("OWNER_UID"),
    filesystemOverhead: readOverhead(text("FILESYSTEM_OVERHEAD")),
    insecureTls: readTruth(text("INSECURE_TLS")) ?? false,
    preallocation: readPreallocation(env["PREALLOCATION" satisfies SettingName]),
    directIo: text("CACHE_MODE") === "TRYNONE",
    accessKey: given("IMPORTER_ACCESS_KEY_ID"),
    secretKey: given("IMPORTER_SECRET_KEY"),
    sessionToken: given("IMPORTER_SESSION_TOKEN"),
    googleCredentials: given("GOOGLE_APPLICATION_CREDENTIALS"),
    certDir: given("IMPORTER_CERT_DIR"),
    proxyCertDir: given("IMPORTER_PROXY_CERT_DIR") ?? settings.IMPORTER_PROXY_CERT_DIR.default,
    proxy: Object.freeze({
      http: eitherCase("http_proxy"),
      https: eitherCase("https_proxy"),
      none: eitherCase("no_proxy"),
    }),
    extraHeaders: Object.freeze(readHeaders(env, secretHeaders)),
    checksum: given("IMPORTER_CHECKSUM"),
    architecture: given("IMPORTER_REGISTRY_IMAGE_ARCHITECTURE"),
    nodePull: text("IMPORTER_PULL_METHOD") === "node",
    readyFile: given("IMPORTER_READY_FILE"),
    doneFile: given("IMPORTER_DONE_FILE"),
    diskId: given("IMPORTER_DISK_ID"),
    uuid: given("IMPORTER_UUID"),
    backingFile: given("IMPORTER_BACKING_FILE"),
    thumbprint: given("IMPORTER_THUMBPRINT"),
    checkpoint: Object.freeze({
      current: given("IMPORTER_CURRENT_CHECKPOINT"),
      previous: given("IMPORTER_PREVIOUS_CHECKPOINT"),
      final: given("IMPORTER_FINAL_CHECKPOINT"),
    }),
    nbdkitSocket: given("DECANT_NBDKIT_SOCKET"),
    stallMs: readStallSeconds(text("DECANT_STALL_SECONDS")) * 1000,
    ownController: hasOwnController(env),
  };
  return Object.freeze(config);
}

/** Also known where the rest of the environment is malformed. */
export function hasOwnController(env: Environment): boolean {
  return env["DECANT_CONTROLLER" satisfies SettingName] === "1";
}

/** @throws UsageError where archives are asked of a source that has none: the worker exits without a termination message */
export function refuseContentType({ source, contentType }: WorkerConfig): void {
  if (contentType === "kubevirt" || (source !== "registry" && source !== "imageio")) return;
  throw new UsageError(`content type "${contentType.slice(0, 100)}" is not supported by the source ${source}`);
}

/** Whether a tar is to be unpacked. The sources that do not ask for the content type take theirs for a disk. */
export function unpacksArchive({ source, contentType, nodePull }: WorkerConfig): boolean {
  return contentType === "archive" && source === "http" && !nodePull;
}

/** @throws UsageError with the whole text of the termination message */
export function requireSource({ source, contentType, nodePull }: WorkerConfig): SourceKind {
  const kind = SOURCE_KINDS.find((known) => known === source);
  if (kind === undefined) throw new UsageError(`Unknown data source: ${source}`);
  if (kind === "http" && !nodePull && !["", "kubevirt", "archive"].includes(contentType)) {
    throw new UsageError(`Unknown content type: ${contentType.slice(0, 100)}`);
  }
  if (kind === "none" && contentType !== "kubevirt") {
    throw new UsageError("Cannot create empty disk with content type archive");
  }
  return kind;
}

/** @throws UsageError */
export function requireEndpoint({ endpoint }: WorkerConfig): string {
  if (endpoint !== "") return endpoint;
  throw new UsageError(`unable to parse endpoint "": endpoint "IMPORTER_ENDPOINT" is missing or blank`);
}

/**
 * Undefined: none was asked for.
 * @throws UsageError
 */
export function requireChecksum({ checksum }: WorkerConfig): Checksum | undefined {
  if (checksum === undefined) return undefined;
  const parsed = checksumOrRefusal(checksum);
  if (!(parsed instanceof UsageError)) return parsed;
  const { algorithm, digits, given } = parsed.context;
  const isLength = digits !== undefined && digits !== given;
  const length = `invalid ${String(algorithm)} hash length: expected ${String(digits)} hex characters, got ${String(given)}`;
  throw new UsageError(`invalid checksum: ${isLength ? length : parsed.message}`, { context: parsed.context });
}

function checksumOrRefusal(text: string): Checksum | UsageError {
  try {
    return parseChecksum(text);
  } catch (error) {
    if (error instanceof UsageError) return error;
    throw error;
  }
}

/** Every text that must appear in no log, message, metric or file: passwords, secret headers, queries (they may sign). */
export function secretsOf(config: WorkerConfig): readonly string[] {
  const { secretKey, sessionToken, endpoint, proxy, extraHeaders } = config;
  const headers = extraHeaders.filter(({ secret }) => secret).map(({ value }) => value);
  const urls = [endpoint, proxy.http ?? "", proxy.https ?? ""].flatMap(urlSecrets);
  return [secretKey ?? "", sessionToken ?? "", ...headers, ...urls].filter((text) => text !== "");
}

/** Held at 2^53 - 1: it is compared with what a volume has, which is less. */
function readSize(text: string): number | undefined {
  if (text === "") return undefined;
  const size = quantityInBytes(text);
  if (size === undefined)
    throw new UsageError(`IMPORTER_IMAGE_SIZE "${text.slice(0, 100)}" is not a quantity of bytes`);
  return Math.min(size, Number.MAX_SAFE_INTEGER);
}

function readOverhead(text: string): number {
  const overhead = /^\+?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text) ? Number(text) : 0;
  return Number.isFinite(overhead) ? overhead : 0;
}

function readPreallocation(text: string | undefined): boolean {
  const truth = readTruth(text ?? "");
  if (truth !== undefined) return truth;
  throw new UsageError(
    text === undefined ? "PREALLOCATION is not set" : `PREALLOCATION "${text.slice(0, 100)}" is neither true nor false`,
  );
}

/** A thousandth of a second to a day; anything else is the default. */
function readStallSeconds(text: string): number {
  const seconds = /^\d{1,5}(\.\d{1,3})?$/.test(text) ? Number(text) : 0;
  return seconds >= 0.001 && seconds <= 86_400 ? seconds : Number(settings.DECANT_STALL_SECONDS.default);
}

function readTruth(text: string): boolean | undefined {
  return Object.hasOwn(TRUTHS, text) ? TRUTHS[text] : undefined;
}

function readHeaders(env: Environment, secretHeaders: readonly string[]): ExtraHeader[] {
  const open = Object.keys(env).filter((name) => name.startsWith(EXTRA_HEADER_PREFIX));
  return [
    ...open.flatMap((name) => readHeader(env[name] ?? "", false)),
    ...secretHeaders.flatMap((text) => readHeader(text, true)),
  ];
}

/** A text without a colon is no header and is passed over. Blanks around both halves go, a file's last newline too. */
function readHeader(text: string, secret: boolean): ExtraHeader[] {
  const colon = text.indexOf(":");
  if (colon === -1) return [];
  const name = text.slice(0, colon).trim();
  return [Object.freeze({ name, value: text.slice(colon + 1).trim(), secret: secret || SECRET_NAME.test(name) })];
}

function urlSecrets(text: string): string[] {
  if (!URL.canParse(text)) return [];
  const { password, search } = new URL(text);
  return [password, decodePercents(password), search.slice(1)];
}

/** Nothing where it is not well formed. */
function decodePercents(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}
