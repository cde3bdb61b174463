/**
 * What the worker's termination message says of an error: a table from code and stage to the words that controllers and
 * their tests match on. They are CDI's words, also for what happens elsewhere here: CDI meets a damaged image when it
 * converts, we meet it in its first bytes, and who reads the message must not see a difference. Our own sentence follows
 * where the words alone would not say enough.
 */
import { STATUS_CODES } from "node:http";
import type { ErrorContext } from "../formats/errors.ts";
import { FormatError } from "../formats/errors.ts";
import { SourceError, TargetError } from "./errors.ts";
import { errorCode, errorText } from "./outcome.ts";
import type { ErrorCode } from "./outcome.ts";
import type { Phase } from "./phases.ts";

/**
 * Where the worker was, besides in a phase:
 * - `start-up`: before the source is looked at; the log alone tells of it
 * - `choice`: which source; waiting for its file
 * - `connect`: the source is made and asked for the first time
 * - `blank`: a disk without an image
 */
export type Stage = "start-up" | "choice" | "connect" | "blank" | Phase;

export interface FailureSite {
  readonly stage: Stage;
  readonly source: string;
  readonly contentType: string;
  readonly endpoint: string;
}

interface Words {
  readonly codes: readonly ErrorCode[];
  readonly when?: (site: FailureSite, context: ErrorContext) => boolean;
  /** @param own our sentence with its causes and what to do */
  readonly text: (own: string, context: ErrorContext, site: FailureSite) => string;
}

const PROCESS = "Unable to process data: ";
const INFO = `${PROCESS}Unable to obtain information about data source: `;
const SCRATCH = `${PROCESS}Unable to transfer source data to scratch space: `;
const TARGET_FILE = `${PROCESS}Unable to transfer source data to target file: `;
const DIRECTORY = `${PROCESS}Unable to transfer source data to target directory: `;
const CONVERT = `${PROCESS}Unable to convert source data to target format: `;
const RESIZE = `${PROCESS}Unable to resize disk image to requested size: `;
const REGISTRY = `${SCRATCH}Failed to read registry image: `;

const TOO_LARGE = "is larger than the reported available";

const ANSWERS: readonly ErrorCode[] = ["SOURCE_NOT_FOUND", "SOURCE_DENIED", "SOURCE_TLS", "SOURCE_UNAVAILABLE"];
const BROKEN_TRANSFERS: readonly ErrorCode[] = ["SOURCE_TRUNCATED", "SOURCE_CHANGED"];

/** The first row that fits; without one, our own sentence stands alone. */
const WORDS: readonly Words[] = [
  {
    codes: ["SOURCE_CHECKSUM"],
    text: (own, { algorithm, expected, actual, of }) => {
      const both = `expected ${text(algorithm)}:${text(expected)}, calculated ${text(algorithm)}:${text(actual)}`;
      const words = `checksum validation failed: checksum mismatch: ${both}`;
      // Nobody asked for the digest of a container image's layer: which one it is has to be said.
      return of === undefined ? words : `${words}: ${own}`;
    },
  },
  {
    codes: ["TARGET_TOO_SMALL"],
    text: (own) => (own.includes(TOO_LARGE) ? own : `image ${TOO_LARGE} storage: ${own}`),
  },
  {
    codes: ["TARGET_NO_SPACE"],
    when: (_, { errno }) => errno === "EDQUOT",
    text: (own) => `unable to write to file: disk quota exceeded: ${own}`,
  },
  { codes: ["TARGET_NO_SPACE"], text: (own) => `unable to write to file: no space left on device: ${own}` },
  {
    codes: ["FORMAT_OUT_OF_BOUNDS"],
    when: (_, { field }) => field === "l1_size",
    text: (own) => `L1 size too big: ${own}`,
  },
  {
    codes: ["FORMAT_UNSUPPORTED"],
    when: ({ stage, source }, { platforms }) => stage === "connect" && source === "registry" && platforms !== undefined,
    text: (own) => `Error retrieving image: choosing image instance: ${own}`,
  },
  {
    codes: ANSWERS,
    when: (site, { status, proxy }) => isFirstContact(site, "http") && typeof status === "number" && proxy !== true,
    text: (_, { status }) => {
      const known = STATUS_CODES[Number(status)];
      return `expected status code 200, got ${text(status)}. Status: ${text(status)}${known === undefined ? "" : ` ${known}`}`;
    },
  },
  {
    codes: ANSWERS,
    when: (site, { errno, proxy }) => {
      return isFirstContact(site, "http") && proxy !== true && (errno === "ENOTFOUND" || errno === "EAI_AGAIN");
    },
    text: (own, _, { endpoint }) => `HTTP request errored: ${lookupFailed(endpoint)}: ${own}`,
  },
  { codes: ANSWERS, when: (site) => isFirstContact(site, "http"), text: (own) => `HTTP request errored: ${own}` },
  { codes: ANSWERS, when: (site) => isFirstContact(site, "s3"), text: (own) => `could not get s3 object: ${own}` },
  {
    codes: ["SOURCE_NOT_FOUND"],
    when: (site) => isFirstContact(site, "gcs"),
    text: (own) => `storage: object doesn't exist: ${own}`,
  },
];

type Prefix = (code: ErrorCode, site: FailureSite) => string;

/** What stands before the words, by stage. */
const PREFIXES: Readonly<Record<Stage, Prefix>> = {
  "start-up": () => "",
  choice: () => "",
  connect: connectPrefix,
  blank: () => "Unable to create blank image: ",
  Info: infoPrefix,
  Transfer: pourPrefix,
  Convert: pourPrefix,
  Resize: () => RESIZE,
  Complete: (code, site) => (code === "SOURCE_CHECKSUM" ? pourPrefix(code, site) : PROCESS),
};

/** The whole sentence, but for the code in brackets; it may have several lines and any length. */
export function failureText(error: unknown, site: FailureSite): string {
  const code = errorCode(error);
  const context = contextOf(error);
  const words = WORDS.find(({ codes, when }) => codes.includes(code) && (when?.(site, context) ?? true));
  const own = errorText(error);
  return PREFIXES[site.stage](code, site) + (words?.text(own, context, site) ?? own);
}

/** CDI opens a container image when it transfers. The words "failed to pull image" stand for an image that cannot be had. */
function connectPrefix(code: ErrorCode, { source }: FailureSite): string {
  if (source !== "registry") return `Unable to connect to ${source} data source: `;
  return isOfSource(code) ? `${REGISTRY}failed to pull image: ` : REGISTRY;
}

/** The first bytes of the image: what CDI knows when it has connected, and what it finds out later. */
function infoPrefix(code: ErrorCode, site: FailureSite): string {
  if (ANSWERS.includes(code) || (site.source === "registry" && isOfSource(code))) return connectPrefix(code, site);
  if (code === "FORMAT_UNRECOGNISED" || BROKEN_TRANSFERS.includes(code)) {
    return `${INFO}could not process image header: `;
  }
  return isOfImage(code) ? CONVERT : INFO;
}

function pourPrefix(code: ErrorCode, site: FailureSite): string {
  if (site.contentType === "archive") {
    if (code === "SOURCE_CHECKSUM") return DIRECTORY;
    // What tar says of an archive that it cannot read; tests of CDI's users wait for it.
    return `${DIRECTORY}unable to untar files from endpoint: ${isOfImage(code) ? "exit status 2: " : ""}`;
  }
  if (code === "SOURCE_CHECKSUM") return SCRATCH;
  if (isOfSource(code))
    return site.source === "registry" ? connectPrefix(code, site) : `${SCRATCH}failed to pull image: `;
  return site.stage === "Transfer" && !isOfImage(code) ? TARGET_FILE : CONVERT;
}

function isOfSource(code: ErrorCode): boolean {
  return code.startsWith("SOURCE_") && code !== "SOURCE_CHECKSUM";
}

function isOfImage(code: ErrorCode): boolean {
  return code.startsWith("FORMAT_") || code === "TARGET_TOO_SMALL";
}

function isFirstContact({ stage, source }: FailureSite, wanted: string): boolean {
  return source === wanted && (stage === "connect" || stage === "Info");
}

/** Of the endpoint only what is no secret. */
function lookupFailed(endpoint: string): string {
  if (!URL.canParse(endpoint)) return "dial tcp: lookup: no such host";
  const { origin, pathname, hostname } = new URL(endpoint);
  return `Get "${origin}${pathname}": dial tcp: lookup ${hostname}: no such host`;
}

function contextOf(error: unknown): ErrorContext {
  const known = error instanceof FormatError || error instanceof SourceError || error instanceof TargetError;
  return known ? error.context : {};
}

function text(value: ErrorContext[string]): string {
  return value === undefined ? "unknown" : String(value);
}
