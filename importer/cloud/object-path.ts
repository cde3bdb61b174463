/**
 * The key of an object as part of a URL, and back.
 *
 * A key is any text. A URL is not: what is between its slashes must not be `.` or `..`, in whatever spelling, for it would
 * be resolved before it is sent, and another object would come.
 */
import { UsageError } from "../errors.ts";

/** As a signature has it: everything but letters, digits, `-._~` and the slashes is encoded, byte by byte of its UTF-8. */
export function encodeKey(key: string): string {
  return encodeURIComponent(key.toWellFormed())
    .replaceAll("%2F", "/")
    .replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

export interface UrlParts {
  /** Without a path. */
  readonly origin: URL;
  /** Decoded, without the slashes at either end; what follows a question mark is not of it. */
  readonly path: string;
}

/**
 * Takes a URL apart without resolving its path.
 * @throws UsageError for what is no http or https URL
 */
export function splitUrl(text: string): UrlParts {
  const [, before = "", path = ""] = /^(https?:\/\/[^/?#]*)([^?#]*)/i.exec(text) ?? [];
  const origin = URL.parse(before);
  if (origin === null) throw new UsageError("the address of the object is no http or https URL");
  try {
    return { origin, path: decodeURIComponent(path).replace(/^\/+|\/+$/g, "") };
  } catch (error) {
    throw new UsageError("the path of the object's URL is not encoded as a URL's is", { cause: error });
  }
}

/** The first part of a path, and the rest. */
export function splitPath(path: string): { readonly bucket: string; readonly key: string } {
  const slash = path.indexOf("/");
  return slash === -1 ? { bucket: path, key: "" } : { bucket: path.slice(0, slash), key: path.slice(slash + 1) };
}

/**
 * @param name safe to show
 * @throws UsageError for what names no object, or one that no URL leads to
 */
export function checkObject(name: string, bucket: string, key: string): void {
  if (bucket === "" || key === "") throw new UsageError(`${name} names no object: a bucket and a key are needed`);
  if (!/(?:^|\/)\.\.?(?:\/|$)/.test(`${bucket}/${key}`)) return;
  throw new UsageError(`${name} cannot be asked for: no URL can say . or .. between slashes`, {
    remedy: "Copy the object to a key without it.",
  });
}
