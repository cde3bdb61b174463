/**
 * Which object of Google Cloud Storage a name means, and the URL to ask for it. Pure.
 *
 * `gs://bucket/object` takes the object's name as it is written; STORAGE_EMULATOR_HOST says where else than at Google.
 * `http(s)://host/bucket/object` is a URL, and its path is decoded.
 */
import { UsageError } from "../errors.ts";
import { checkObject, encodeKey, splitPath, splitUrl } from "./object-path.ts";

export interface GcsObject {
  /** Safe to show. */
  readonly name: string;
  readonly url: string;
  /** `emulator`: nobody asks for credentials there. */
  readonly service: "google" | "other" | "emulator";
}

const GOOGLE = "https://storage.googleapis.com";

/** `[bucket.]storage.googleapis.com` */
const GOOGLE_HOST = /^(?:(?<bucket>[a-z0-9][a-z0-9._-]*)\.)?storage\.googleapis\.com$/i;

/** @throws UsageError for what names no object */
export function parseGcsObject(text: string, env: Readonly<Record<string, string | undefined>>): GcsObject {
  return /^gs:\/\//i.test(text) ? fromName(text, env) : fromUrl(text);
}

function fromName(text: string, env: Readonly<Record<string, string | undefined>>): GcsObject {
  const [, bucket = "", key = ""] = /^gs:\/\/([^/]*)\/?(.*)$/is.exec(text) ?? [];
  checkObject(text, bucket, key);
  const emulator = env["STORAGE_EMULATOR_HOST"] || undefined;
  const endpoint = emulator === undefined ? GOOGLE : emulatorEndpoint(emulator);
  const url = `${endpoint}/${encodeKey(bucket)}/${encodeKey(key)}`;
  return { name: text, url, service: emulator === undefined ? "google" : "emulator" };
}

function emulatorEndpoint(text: string): string {
  const url = URL.parse(/^https?:\/\//i.test(text) ? text : `http://${text}`);
  if (url === null) throw new UsageError("STORAGE_EMULATOR_HOST is neither a host nor a URL");
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}

function fromUrl(text: string): GcsObject {
  const { origin, path } = splitUrl(text);
  const google = GOOGLE_HOST.exec(origin.hostname)?.groups;
  const inHost = google?.["bucket"];
  const { bucket, key } = inHost === undefined ? splitPath(path) : { bucket: inHost, key: path };
  const name = `${origin.origin}/${path}`;
  checkObject(name, bucket, key);
  return {
    name,
    url: `${origin.origin}/${inHost === undefined ? `${encodeKey(bucket)}/` : ""}${encodeKey(key)}`,
    service: google === undefined ? "other" : "google",
  };
}
