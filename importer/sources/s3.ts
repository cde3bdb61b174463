/**
 * An object of an S3 service: AWS, or whoever speaks the same protocol. It is a URL whose requests are signed.
 *
 * A refusal is asked for once more, to be read: it may name the bucket's region, or show that the clocks differ. Either is
 * corrected once. Without credentials the object is asked for as anybody.
 */
import { findAwsCredentials } from "../cloud/aws-credentials.ts";
import type { AwsSigning } from "../cloud/aws-authorizer.ts";
import { MAX_ANSWER_LENGTH, readS3Answer, s3Failure } from "../cloud/s3-answer.ts";
import type { S3Answer } from "../cloud/s3-answer.ts";
import { inRegion, parseS3Object, urlOf } from "../cloud/s3-object.ts";
import type { S3Object } from "../cloud/s3-object.ts";
import { SourceError } from "../errors.ts";
import { readDocument } from "../http/document.ts";
import { HttpClient } from "../http/http-client.ts";
import type { HttpOptions } from "../http/http-options.ts";
import type { Pace } from "../http/pace.ts";
import { Place } from "../http/place.ts";
import { openHttp } from "./http.ts";
import type { HttpSource } from "./http.ts";

export interface S3Keys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

export interface OpenS3Options {
  /** Its `auth` is not used. */
  readonly http: HttpOptions;
  /** Undefined: the environment's, a profile's, a role's; where there are none, nobody's. */
  readonly credentials?: S3Keys | undefined;
  /** Over the one that the address or the environment names. */
  readonly region?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** As openHttp. */
  readonly allowsPages: boolean;
  readonly pace?: Pace;
}

/** An object, and how it is asked for. */
interface Asking {
  readonly object: S3Object;
  readonly signing: AwsSigning | undefined;
}

/** Which answer told it. */
interface Correction extends Asking {
  readonly kind: "region" | "clock";
}

/** Answers that are read to learn why; some say it with a redirect that leads nowhere. */
const READ_STATUSES: readonly number[] = [200, 206, 301, 302, 307, 308, 400, 401, 403, 404, 405, 410, 416];

/**
 * @param name `s3://bucket/key`, or `http(s)://endpoint/bucket/key`
 * @throws UsageError for what names no object, SourceError, FormatError
 */
export async function openS3(name: string, options: OpenS3Options): Promise<HttpSource> {
  const object = parseS3Object(name, options);
  let asking: Asking = { object, signing: await signingFor(object, options) };
  for (const done: Correction["kind"][] = []; ;) {
    const { signing } = asking;
    const url = urlOf(asking.object);
    const auth = signing === undefined ? undefined : ({ kind: "aws", ...signing } as const);
    const client = new HttpClient({ ...options.http, auth }, options.pace);
    try {
      const source = await openHttp(url, client, options);
      return { ...source, name: object.name, reopen: () => openS3(name, options) };
    } catch (error) {
      const answer = await askWhy(client, url, error);
      const correction = answer === undefined ? undefined : correct(asking, answer, client.pace.now());
      client.close();
      if (answer === undefined) throw error;
      if (correction === undefined || done.includes(correction.kind)) {
        throw s3Failure(answer, object.name, signing === undefined) ?? error;
      }
      done.push(correction.kind);
      asking = correction;
    }
  }
}

async function signingFor(object: S3Object, options: OpenS3Options): Promise<AwsSigning | undefined> {
  const { credentials: given, env, http } = options;
  const credentials =
    given === undefined
      ? await findAwsCredentials(env, object.region, http)
      : { ...given, sessionToken: given.sessionToken, expiresAtMs: undefined };
  if (credentials === undefined) return undefined;
  return { credentials, region: object.region, profile: env["AWS_PROFILE"] || undefined, clockOffsetMs: 0 };
}

/** Undefined: the failure was not the service's answer, or the service answers otherwise by now. */
async function askWhy(client: HttpClient, url: string, error: unknown): Promise<S3Answer | undefined> {
  if (!(error instanceof SourceError) || !isAnswer(error)) return undefined;
  const request = { headers: { Range: "bytes=0-0" }, statuses: READ_STATUSES };
  try {
    const answer = await readDocument(client, Place.parse(url), request, MAX_ANSWER_LENGTH);
    return answer.status < 300 ? undefined : readS3Answer(answer);
  } catch {
    return undefined;
  }
}

/** A service that is overloaded was asked often enough. */
function isAnswer({ code, context }: SourceError): boolean {
  const { proxy, errno, stalled, status } = context;
  if (proxy === true || errno !== undefined || stalled === true) return false;
  if (typeof status === "number" && !READ_STATUSES.includes(status)) return false;
  return code === "SOURCE_DENIED" || code === "SOURCE_NOT_FOUND" || code === "SOURCE_UNAVAILABLE";
}

function correct({ object, signing }: Asking, answer: S3Answer, nowMs: number): Correction | undefined {
  const { code, region, servedAtMs } = answer;
  if (region !== undefined && region !== object.region) {
    return {
      kind: "region",
      object: inRegion(object, region),
      signing: signing === undefined ? undefined : { ...signing, region },
    };
  }
  if (code === "RequestTimeTooSkewed" && signing !== undefined && servedAtMs !== undefined) {
    return { kind: "clock", object, signing: { ...signing, clockOffsetMs: servedAtMs - nowMs } };
  }
  return undefined;
}
