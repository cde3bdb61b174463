/**
 * A registry, by the OCI distribution specification ("Pulling manifests", "Pulling blobs").
 *
 * Over https; plain http only for a registry on this machine or one that is called insecure, after https was tried. Blobs are
 * often redirected to other hosts, which see no token: redirects.ts has the rule. A blob that breaks off is continued.
 */
import { SourceError } from "../errors.ts";
import { readDocument } from "../http/document.ts";
import type { Document } from "../http/document.ts";
import { HttpClient } from "../http/http-client.ts";
import type { HttpOptions } from "../http/http-options.ts";
import { Place } from "../http/place.ts";
import { rangeSpecOf } from "../http/range-reader.ts";
import { ResumingStream } from "../http/resuming-stream.ts";
import { inOrder } from "../proved-ranges.ts";
import type { RandomAccess } from "../random-access.ts";
import type { RemoteRanges } from "../sources/source.ts";
import { checkContent } from "./content-digest.ts";
import type { ContentDigest } from "./content-digest.ts";
import type { ImageStore, StoredBlob } from "./image-store.ts";
import { arrayAt, asObject, parseObject, textAt } from "./json-object.ts";
import { MANIFEST_TYPES, MAX_MANIFEST_LENGTH, parseManifest } from "./manifest.ts";
import type { Descriptor, ImageIndex, ImageManifest } from "./manifest.ts";
import type { RegistryReference } from "./reference.ts";
import { TokenAuth } from "./token-auth.ts";
import type { RegistryLogin } from "./token-auth.ts";

export interface RegistryOptions {
  readonly http: HttpOptions;
  readonly login: RegistryLogin | undefined;
  /** Certificates are not verified, and plain http will do. */
  readonly insecure: boolean;
  /** Ranges have failed before. */
  readonly asOneStream?: boolean | undefined;
}

/** Answers of the API that are read: errors have a document of their own. */
const STATUSES = [200, 400, 401, 403, 404];

/** Of an answer whose body does not matter. */
const MAX_ERROR_LENGTH = 64 * 1024;

export class RegistryStore implements ImageStore {
  readonly #reference: RegistryReference;
  readonly #client: HttpClient;
  readonly #auth: TokenAuth;
  readonly #origin: string;
  readonly #asOneStream: boolean;

  private constructor(
    reference: RegistryReference,
    {
      client,
      auth,
      origin,
      asOneStream,
    }: { client: HttpClient; auth: TokenAuth; origin: string; asOneStream: boolean },
  ) {
    this.#reference = reference;
    this.#client = client;
    this.#auth = auth;
    this.#origin = origin;
    this.#asOneStream = asOneStream;
  }

  /** @throws SourceError if https does not work and plain http is not allowed */
  static async open(reference: RegistryReference, options: RegistryOptions): Promise<RegistryStore> {
    const { login, insecure, asOneStream = false } = options;
    const http = insecure ? { ...options.http, trust: { ...options.http.trust, insecure } } : options.http;
    const allowsPlain = insecure || isThisMachine(reference.host);
    const access = { repository: reference.repository, login, allowsPlain, header: undefined };
    const auth = new TokenAuth(access, http);
    const client = new HttpClient({ ...http, asRegistry: true }, undefined, auth);
    try {
      const scheme = allowsPlain && !(await speaksTls(client, reference.host)) ? "http" : "https";
      return new RegistryStore(reference, { client, auth, origin: `${scheme}://${reference.host}`, asOneStream });
    } catch (error) {
      client.close();
      throw error;
    }
  }

  async root(): Promise<ImageIndex | ImageManifest> {
    const { tag, digest } = this.#reference;
    return digest === undefined ? await this.#manifest(tag ?? "latest") : await this.manifest(digest);
  }

  async manifest(digest: ContentDigest): Promise<ImageIndex | ImageManifest> {
    return await this.#manifest(digest.text, digest);
  }

  async document({ digest, size }: Descriptor, maxLength: number): Promise<Uint8Array> {
    const what = `blob ${digest.text}`;
    if (size > maxLength)
      throw new SourceError("SOURCE_UNAVAILABLE", `${what} has ${size} bytes, more than ${maxLength}`);
    const answer = await readDocument(this.#client, this.#blobPlace(digest), { statuses: STATUSES }, maxLength);
    if (answer.status !== 200) throw this.#failure(what, answer);
    checkContent(answer.bytes, digest, what);
    return answer.bytes;
  }

  async blob({ digest }: Descriptor): Promise<StoredBlob> {
    const place = this.#blobPlace(digest);
    try {
      const first = await ResumingStream.open(this.#client, place);
      let remote: RandomAccess | undefined;
      // In order, several ranges or not: the digest is of the whole.
      const source = { name: place.name, ranges: this.#asOneStream ? undefined : this.#ranges(first, place) };
      const stream = await inOrder(source, first, (file) => (remote = file));
      return { stream, resumes: () => first.resumes + (remote?.retries ?? 0) };
    } catch (error) {
      throw this.#blobFailure(error, digest);
    }
  }

  close(): void {
    this.#client.close();
  }

  async #manifest(version: string, digest?: ContentDigest): Promise<ImageIndex | ImageManifest> {
    const place = this.#place(`manifests/${version}`);
    const request = { headers: { Accept: MANIFEST_TYPES.join(", ") }, statuses: STATUSES };
    const answer = await readDocument(this.#client, place, request, MAX_MANIFEST_LENGTH);
    if (answer.status !== 200) throw this.#failure(`manifest ${version}`, answer);
    if (digest !== undefined) checkContent(answer.bytes, digest, `manifest ${version}`);
    return parseManifest(answer.bytes);
  }

  #ranges(stream: ResumingStream, place: Place): RemoteRanges | undefined {
    const spec = rangeSpecOf(place, stream.representation);
    if (spec === undefined) return undefined;
    return { http: { ...this.#client.options, auth: { kind: "registry", ...this.#auth.access } }, spec };
  }

  #blobPlace(digest: ContentDigest): Place {
    return this.#place(`blobs/${digest.text}`);
  }

  #place(path: string): Place {
    return Place.parse(`${this.#origin}/v2/${this.#reference.repository}/${path}`);
  }

  /** In the words that users of CDI know. */
  #failure(what: string, { status, bytes }: Document): SourceError {
    const where = `${this.#reference.registry}/${this.#reference.repository}`;
    const message = `reading ${what} in ${where}: ${reasonIn(bytes) ?? `the registry answers ${status}`}`;
    const context = { status };
    if (status === 404) {
      return new SourceError("SOURCE_NOT_FOUND", message, {
        remedy: "Check the name and the tag of the image.",
        context,
      });
    }
    if (status === 400) return new SourceError("SOURCE_UNAVAILABLE", message, { context });
    return new SourceError("SOURCE_DENIED", message, {
      remedy: "Check user and password, and whether there is such an image: registries answer the same for both.",
      context,
    });
  }

  /** The advice to use a registry's name is for those who did not. */
  #blobFailure(error: unknown, digest: ContentDigest): unknown {
    const status = error instanceof SourceError ? error.context["status"] : undefined;
    if (status !== 401 && status !== 403 && status !== 404) return error;
    const headers = { get: () => null };
    return this.#failure(`blob ${digest.text}`, { status, headers, bytes: new Uint8Array(0) });
  }
}

/** Docker's rule for registries that need no encryption. */
function isThisMachine(host: string): boolean {
  return /^(?:localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])(?::\d+)?$/.test(host);
}

async function speaksTls(client: HttpClient, host: string): Promise<boolean> {
  try {
    await readDocument(client, Place.parse(`https://${host}/v2/`), { statuses: STATUSES }, MAX_ERROR_LENGTH);
    return true;
  } catch (error) {
    if (error instanceof SourceError && NO_TLS.includes(String(error.context["reason"]))) return false;
    throw error;
  }
}

/** What OpenSSL says of an answer in plain text. */
const NO_TLS: readonly string[] = ["ERR_SSL_WRONG_VERSION_NUMBER", "ERR_SSL_PACKET_LENGTH_TOO_LONG", "EPROTO"];

/** The registry's own reason: its code in small letters with blanks, for its sentences may hold anything. */
function reasonIn(bytes: Uint8Array): string | undefined {
  try {
    const first = asObject(arrayAt(parseObject(bytes, "the answer"), "errors")?.[0]);
    const code = first === undefined ? undefined : textAt(first, "code");
    if (code === undefined || !/^[A-Z][A-Z_]{2,40}$/.test(code)) return undefined;
    return code.toLowerCase().replaceAll("_", " ");
  } catch {
    return undefined;
  }
}
