/**
 * Where a source's bytes are fetched: the URL that was named, and the one that its redirects led to.
 *
 * Redirects are followed once and the end is kept, for each of thousands of ranges would else take them again. Credentials
 * and extra headers are for the origin that was named: a redirect to another one leaves them behind, for good.
 */
import { UsageError } from "../errors.ts";
import { authOf, withoutAuth } from "./basic-auth.ts";
import type { BasicAuth } from "./basic-auth.ts";
import { redactUrl } from "./redact.ts";

/** A place as plain data, for another thread. It holds secrets. */
export interface PlaceSpec {
  readonly first: string;
  readonly auth: BasicAuth | undefined;
  readonly current: string;
  readonly isTrusted: boolean;
  /** Of a secret one. */
  readonly name?: string;
}

export class Place {
  /** Safe to show. */
  readonly name: string;
  readonly first: URL;
  /** From the URL's user info. */
  readonly auth: BasicAuth | undefined;
  /** The path is a secret: it is not shown, and no redirect may repeat it. */
  readonly isSecret: boolean;
  #current: URL;
  #isTrusted = true;

  private constructor(first: URL, auth: BasicAuth | undefined, name: string | undefined) {
    this.name = name ?? redactUrl(first);
    this.isSecret = name !== undefined;
    this.first = first;
    this.auth = auth;
    this.#current = first;
  }

  /**
   * @param name what is shown in the place of a path that is a secret itself
   * @throws UsageError if `text` is no http or https URL
   */
  static parse(text: string, name?: string): Place {
    const url = URL.parse(text);
    if (url === null) throw new UsageError("the URL of the source cannot be read");
    if (url.protocol !== "http:" && url.protocol !== "https:") {
      throw new UsageError(`${name ?? redactUrl(url)} is neither an http nor an https URL`);
    }
    return new Place(withoutAuth(url), authOf(url), name);
  }

  static fromSpec(spec: PlaceSpec): Place {
    const place = new Place(new URL(spec.first), spec.auth, spec.name);
    place.pin(new URL(spec.current), spec.isTrusted);
    return place;
  }

  /** What lies below this one, under the same name. */
  below(name: string): Place {
    const url = new URL(this.first);
    url.pathname = `${url.pathname.replace(/\/+$/, "")}/${name}`;
    return new Place(url, this.auth, this.isSecret ? this.name : undefined);
  }

  get spec(): PlaceSpec {
    const plain = { first: this.first.href, auth: this.auth, current: this.#current.href, isTrusted: this.#isTrusted };
    return this.isSecret ? { ...plain, name: this.name } : plain;
  }

  /** Where the redirects ended. */
  get current(): URL {
    return this.#current;
  }

  /** Whether `current` may see credentials and extra headers. */
  get isTrusted(): boolean {
    return this.#isTrusted;
  }

  get isPinned(): boolean {
    return this.#current.href !== this.first.href;
  }

  pin(url: URL, isTrusted: boolean): void {
    this.#current = url;
    this.#isTrusted = isTrusted;
  }

  /** What the redirects led to is gone (a signed URL expires): they are followed again. */
  unpin(): void {
    this.pin(this.first, true);
  }
}
