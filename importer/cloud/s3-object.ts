/**
 * Which object of which S3 service a name means, and the URL to ask for it. Pure.
 *
 * `s3://bucket/key` takes the key as it is written. `http(s)://endpoint/bucket/key` is a URL: its path is decoded, its query
 * is nothing of S3's. AWS is asked with the bucket in the host's name, where a certificate allows that; everybody else, an IP
 * address above all, with the bucket in the path. The region of a host of AWS is in its name, in one of four spellings.
 */
import { UsageError } from "../errors.ts";
import { checkObject, encodeKey, splitPath, splitUrl } from "./object-path.ts";

export interface S3Object {
  /** Safe to show. */
  readonly name: string;
  readonly bucket: string;
  readonly key: string;
  /** The one that requests are signed for. */
  readonly region: string;
  readonly service: AwsService | OtherService;
}

/** A host of AWS follows from the region. */
interface AwsService {
  readonly kind: "aws";
  readonly scheme: string;
  /** Between `s3` and the region. */
  readonly variant: "" | ".dualstack" | "-fips" | "-fips.dualstack";
}

interface OtherService {
  readonly kind: "other";
  /** With a path where the service has one, without a slash at its end. */
  readonly endpoint: string;
}

export interface S3Settings {
  /** Over everything else that names one. */
  readonly region?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const DEFAULT_REGION = "us-east-1";

/** What becomes part of a host's name, and of a signature. */
const REGION = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i;

/** With dots it would need a certificate that no service has. */
const IN_A_HOST = /^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/;

/** `[bucket.]s3[-fips][.dualstack][.region|-region].amazonaws.com[.cn]`, all of them and the old spellings. */
const AWS_HOST =
  /^(?:(?<bucket>[a-z0-9][a-z0-9.-]*)\.)?s3(?<fips>-fips)?(?<dualstack>\.dualstack)?(?:[.-](?<region>(?:[a-z]+-)+\d+))?\.amazonaws\.com(?:\.cn)?$/i;
/** An interface endpoint in a private network. */
const AWS_PRIVATE_HOST = /\.s3\.(?<region>[a-z0-9-]+)\.vpce\.amazonaws\.com$/i;
/** How other services name theirs: `s3.eu-central-003.example.com`. */
const OTHER_HOST = /(?:^|\.)s3\.(?<region>[a-z]+(?:-[a-z0-9]+)+)\.[^.]+\.[^.]+$/i;

export function isS3Name(text: string): boolean {
  return /^s3:\/\//i.test(text);
}

/**
 * @param text `s3://bucket/key`, or a URL of http or https
 * @throws UsageError for what names no object
 */
export function parseS3Object(text: string, settings: S3Settings): S3Object {
  const { env } = settings;
  const region = settings.region ?? env["AWS_REGION"] ?? env["AWS_DEFAULT_REGION"];
  if (region !== undefined && !REGION.test(region)) throw new UsageError("the region is not the name of one");
  return isS3Name(text) ? fromName(text, region, settings) : fromUrl(text, region, settings);
}

/** The same object as another region has it. */
export function inRegion(object: S3Object, region: string): S3Object {
  if (!REGION.test(region)) throw new Error("a region without the name of one");
  return { ...object, region };
}

export function isRegion(text: string): boolean {
  return REGION.test(text);
}

export function urlOf({ bucket, key, region, service }: S3Object): string {
  if (service.kind === "other") return `${service.endpoint}/${encodeKey(bucket)}/${encodeKey(key)}`;
  const host = `s3${service.variant}.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`;
  if (IN_A_HOST.test(bucket)) return `${service.scheme}//${bucket}.${host}/${encodeKey(key)}`;
  return `${service.scheme}//${host}/${encodeKey(bucket)}/${encodeKey(key)}`;
}

function fromName(text: string, region: string | undefined, { env }: S3Settings): S3Object {
  const [, bucket = "", key = ""] = /^s3:\/\/([^/]*)\/?(.*)$/is.exec(text) ?? [];
  if (bucket.includes("@")) {
    throw new UsageError("the name of an S3 object holds no user and no password", {
      remedy: "Put them into AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or into a profile.",
    });
  }
  const named = env["AWS_ENDPOINT_URL_S3"] || env["AWS_ENDPOINT_URL"] || undefined;
  const place = named === undefined ? awsPlace("https:", region) : placeOf(endpointUrl(named), region);
  checkObject(text, bucket, key);
  return { name: text, bucket, key, ...place };
}

function endpointUrl(text: string): URL {
  const url = URL.parse(text);
  if (url !== null && (url.protocol === "http:" || url.protocol === "https:")) return url;
  throw new UsageError("AWS_ENDPOINT_URL is no http or https URL");
}

function fromUrl(text: string, region: string | undefined, settings: S3Settings): S3Object {
  const { origin, path } = splitUrl(text);
  const inHost = AWS_HOST.exec(origin.hostname)?.groups?.["bucket"];
  const { bucket, key } = inHost === undefined ? splitPath(path) : { bucket: inHost, key: path };
  const name = `${origin.origin}/${path}`;
  checkObject(name, bucket, key);
  return { name, bucket, key, ...placeOf(origin, region, settings.region) };
}

type ServicePlace = Pick<S3Object, "region" | "service">;

/** @param explicit goes before the region in a host's name; `region` may be one that was meant for something else */
function placeOf(url: URL, region: string | undefined, explicit?: string): ServicePlace {
  const aws = AWS_HOST.exec(url.hostname)?.groups;
  if (aws !== undefined) {
    const variant = `${aws["fips"] ?? ""}${aws["dualstack"] ?? ""}`.toLowerCase() as AwsService["variant"];
    // s3-external-1 is one more name of us-east-1.
    const named = aws["region"]?.toLowerCase().replace(/^external-1$/, DEFAULT_REGION);
    return awsPlace(url.protocol, explicit ?? named ?? region, variant);
  }
  const endpoint = `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
  const inPrivate = AWS_PRIVATE_HOST.exec(url.hostname)?.groups?.["region"];
  const inOther = OTHER_HOST.exec(url.hostname)?.groups?.["region"];
  return {
    region: explicit ?? inPrivate ?? region ?? inOther ?? DEFAULT_REGION,
    service: { kind: "other", endpoint },
  };
}

function awsPlace(scheme: string, region: string | undefined, variant: AwsService["variant"] = ""): ServicePlace {
  return { region: region ?? DEFAULT_REGION, service: { kind: "aws", scheme, variant } };
}
