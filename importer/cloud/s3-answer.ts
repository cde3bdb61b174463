/**
 * What an S3 service's refusal means: its XML names a code, and now and then the region that should have been asked.
 *
 * Only codes of the table below are repeated. Everything else in the answer is a stranger's text, and some services repeat in
 * it what was sent to them.
 * @see https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html
 */
import { children, parseXml } from "../../formats/archives/xml.ts";
import { SourceError } from "../errors.ts";
import type { SourceErrorCode } from "../errors.ts";
import type { Document } from "../http/document.ts";
import { isRegion } from "./s3-object.ts";

/** What a refusal says that another request can do something about. */
export interface S3Answer {
  readonly status: number;
  /** Undefined: none that is known here. */
  readonly code: string | undefined;
  /** The bucket's. */
  readonly region: string | undefined;
  /** The server's clock, since 1970. */
  readonly servedAtMs: number | undefined;
}

/** A refusal is a few hundred bytes. */
export const MAX_ANSWER_LENGTH = 64 * 1024;

interface Meaning {
  readonly code: SourceErrorCode;
  readonly because: string;
  readonly remedy?: string;
}

const ACCESS =
  "Give credentials that may read it; a service also says so of what is not there, to whoever may not list.";
const KEYS = "Check the access key and the secret key.";
const TOKEN = "Give a session token that is still valid, with the keys that belong to it.";
const ARCHIVED = "Restore the object from the archive first.";
const REGION = "Name the bucket's region in AWS_REGION.";
const CLOCK = "Set the clock of this machine.";

const MEANINGS: Readonly<Record<string, Meaning>> = {
  AccessDenied: { code: "SOURCE_DENIED", because: "access is denied", remedy: ACCESS },
  AccountProblem: { code: "SOURCE_DENIED", because: "there is a problem with the account" },
  AllAccessDisabled: { code: "SOURCE_DENIED", because: "access to it is switched off" },
  AuthorizationHeaderMalformed: {
    code: "SOURCE_DENIED",
    because: "the signature is for another region",
    remedy: REGION,
  },
  ExpiredToken: { code: "SOURCE_DENIED", because: "the session token has expired", remedy: TOKEN },
  IllegalLocationConstraintException: { code: "SOURCE_DENIED", because: "it is in another region", remedy: REGION },
  InvalidAccessKeyId: { code: "SOURCE_DENIED", because: "the access key is not known", remedy: KEYS },
  InvalidBucketName: { code: "SOURCE_NOT_FOUND", because: "a bucket cannot have that name" },
  InvalidObjectState: { code: "SOURCE_UNAVAILABLE", because: "the object is in an archive", remedy: ARCHIVED },
  InvalidToken: { code: "SOURCE_DENIED", because: "the session token is not valid", remedy: TOKEN },
  KeyTooLongError: { code: "SOURCE_NOT_FOUND", because: "a key cannot be that long" },
  MethodNotAllowed: { code: "SOURCE_NOT_FOUND", because: "the object was deleted" },
  NoSuchBucket: { code: "SOURCE_NOT_FOUND", because: "there is no such bucket" },
  NoSuchKey: { code: "SOURCE_NOT_FOUND", because: "there is no such object" },
  NoSuchVersion: { code: "SOURCE_NOT_FOUND", because: "there is no such version of the object" },
  PermanentRedirect: { code: "SOURCE_UNAVAILABLE", because: "it is in another region", remedy: REGION },
  RequestTimeTooSkewed: { code: "SOURCE_DENIED", because: "the clocks differ too much", remedy: CLOCK },
  // versitygw's word for an access key that it does not know, with status 404.
  XAdminUserNotFound: { code: "SOURCE_DENIED", because: "the access key is not known", remedy: KEYS },
  SignatureDoesNotMatch: { code: "SOURCE_DENIED", because: "the signature does not match", remedy: KEYS },
};

const ANONYMOUS =
  "No credentials were given or found (keys, a profile, a web identity, a role), so it was asked for as anybody.";
const ELSEWHERE = "It redirects to another address, where credentials do not go along; name that address.";

export function readS3Answer({ status, headers, bytes }: Document): S3Answer {
  const { code, region } = readXml(bytes);
  const served = Date.parse(headers.get("date") ?? "");
  const inHeader = headers.get("x-amz-bucket-region") ?? undefined;
  return {
    status,
    code: code !== undefined && Object.hasOwn(MEANINGS, code) ? code : undefined,
    region: [inHeader, region].find((text) => text !== undefined && isRegion(text)),
    servedAtMs: Number.isNaN(served) ? undefined : served,
  };
}

/**
 * The error for an answer that nothing more can be done about.
 * @param name      of the object, safe to show
 * @param anonymous nobody's credentials were sent
 */
export function s3Failure(answer: S3Answer, name: string, anonymous: boolean): SourceError | undefined {
  const { status, code } = answer;
  const context = { status, ...(code === undefined ? {} : { reason: code }) };
  const isRedirect = status >= 300 && status < 400;
  const known = code === undefined ? meaningOf(status) : MEANINGS[code];
  if (known === undefined) return undefined;
  const remedy =
    anonymous && known.code === "SOURCE_DENIED"
      ? ANONYMOUS
      : isRedirect && code === undefined
        ? ELSEWHERE
        : known.remedy;
  const suffix = code === undefined ? `${status}` : code;
  return new SourceError(known.code, `cannot read ${name}: ${known.because} (${suffix})`, {
    ...(remedy === undefined ? {} : { remedy }),
    context,
  });
}

/** Without a code that is known. */
function meaningOf(status: number): Meaning | undefined {
  if (status === 401 || status === 403) return MEANINGS["AccessDenied"];
  if (status === 404) return MEANINGS["NoSuchKey"];
  if (status >= 300 && status < 400) return { code: "SOURCE_UNAVAILABLE", because: "it is somewhere else" };
  return undefined;
}

function readXml(bytes: Uint8Array): { readonly code?: string | undefined; readonly region?: string | undefined } {
  try {
    const error = children(parseXml(bytes), "Error")[0];
    if (error === undefined) return {};
    return { code: textOf(error["Code"]), region: textOf(error["Region"]) };
  } catch {
    // No XML at all: some other server's page.
    return {};
  }
}

/** The parser's shape of an element with nothing but text. */
function textOf(element: unknown): string | undefined {
  const first: unknown = Array.isArray(element) ? element[0] : undefined;
  return typeof first === "string" ? first.trim() : undefined;
}
