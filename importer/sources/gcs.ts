/**
 * An object of Google Cloud Storage, asked for over its XML API, however long it takes.
 *
 * It is asked for as it is stored: the service would otherwise unpack an object whose Content-Encoding is gzip, and neither
 * ranges nor checksums hold then. The CRC-32C that it tells is compared at the end of the stream. A token that this machine
 * offers of its own goes to Google only.
 */
import type { ByteStream } from "../../formats/byte-stream.ts";
import { parseGcsObject } from "../cloud/gcs-object.ts";
import type { GcsObject } from "../cloud/gcs-object.ts";
import { findGoogleToken } from "../cloud/google-token.ts";
import type { GoogleToken } from "../cloud/google-token.ts";
import { Crc32cStream } from "../crc32c-stream.ts";
import { SourceError } from "../errors.ts";
import { HttpClient } from "../http/http-client.ts";
import type { HttpOptions } from "../http/http-options.ts";
import type { AnswerHeaders } from "../http/representation.ts";
import { openHttp } from "./http.ts";
import type { HttpSource } from "./http.ts";

export interface OpenGcsOptions {
  /** Its `auth` is not used. */
  readonly http: HttpOptions;
  /** A service account's JSON. Undefined: GOOGLE_APPLICATION_CREDENTIALS, else what this machine offers, else nobody's. */
  readonly credentialsFile?: string | undefined;
  /** Whether what this machine offers counts. Default: yes. */
  readonly usesMachine?: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** As openHttp. */
  readonly allowsPages: boolean;
}

/**
 * @param name `gs://bucket/object`, or `http(s)://host/bucket/object`
 * @throws UsageError for what names no object, SourceError, FormatError
 */
export async function openGcs(name: string, options: OpenGcsOptions): Promise<HttpSource> {
  const { env, http, usesMachine = true } = options;
  const object = parseGcsObject(name, env);
  const file = options.credentialsFile ?? (env["GOOGLE_APPLICATION_CREDENTIALS"] || undefined);
  const isOffered = file !== undefined || (usesMachine && object.service === "google");
  const token = isOffered && object.service !== "emulator" ? await findGoogleToken(file, http) : undefined;
  try {
    return await openAs(token, object, options);
  } catch (error) {
    // An object for everybody is refused to somebody whose token may do other things only.
    if (token === undefined || file !== undefined || !isDenied(error)) throw explained(error, object, token);
    return await openAs(undefined, object, options).catch(() => {
      throw explained(error, object, token);
    });
  }
}

async function openAs(token: GoogleToken | undefined, object: GcsObject, options: OpenGcsOptions): Promise<HttpSource> {
  const { http } = options;
  const client = new HttpClient({
    ...http,
    headers: [...http.headers, ["Accept-Encoding", "gzip"]],
    auth: token === undefined ? undefined : { kind: "google", ...token },
  });
  try {
    const source = await openHttp(object.url, client, options);
    const named = { ...source, name: object.name, reopen: () => openAs(token, object, options) };
    const expected = storedCrc32c(source.headers);
    if (expected === undefined) return named;
    const checked = (bytes: ByteStream): ByteStream => new Crc32cStream(bytes, expected, object.name);
    const stream = checked(source.stream());
    return { ...named, checked, stream: () => stream };
  } catch (error) {
    client.close();
    throw error;
  }
}

/**
 * Of the bytes that come; undefined: the service does not say, or they are other bytes than it stores.
 * @see https://cloud.google.com/storage/docs/xml-api/reference-headers#xgooghash
 */
function storedCrc32c(headers: AnswerHeaders): number | undefined {
  const stored = headers.get("x-goog-stored-content-encoding") ?? "identity";
  if (stored !== (headers.get("content-encoding") ?? "identity")) return undefined;
  const told = /(?:^|[,\s])crc32c=([A-Za-z0-9+/]{6}==)(?:$|[,\s])/.exec(headers.get("x-goog-hash") ?? "")?.[1];
  return told === undefined ? undefined : Buffer.from(told, "base64").readUInt32BE(0);
}

function isDenied(error: unknown): boolean {
  return error instanceof SourceError && error.code === "SOURCE_DENIED" && error.context["proxy"] !== true;
}

const ANONYMOUS =
  "No credentials were given or found (a service account's JSON, a login, a role), so it was asked for as anybody.";
const NOT_ALLOWED =
  "Give the credentials of somebody who may read it; the service also says so of what is not there, to whoever may not list.";

/** In the service's terms, for answers that have some. */
function explained(error: unknown, { name }: GcsObject, token: GoogleToken | undefined): unknown {
  if (!(error instanceof SourceError)) return error;
  const { context } = error;
  const { status } = context;
  if (typeof status !== "number") return error;
  if (error.code === "SOURCE_NOT_FOUND") {
    return new SourceError("SOURCE_NOT_FOUND", `there is no object ${name}`, { context });
  }
  if (!isDenied(error)) return error;
  return new SourceError("SOURCE_DENIED", `access to ${name} is denied (${status})`, {
    remedy: token === undefined ? ANONYMOUS : NOT_ALLOWED,
    context,
  });
}
