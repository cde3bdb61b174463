/**
 * How a registry learns who asks: not at all, by user and password, or by a token that another server gives out.
 *
 * The registry's first 401 says which. A token lasts some minutes; when the registry refuses it in the middle of a transfer
 * another one is asked for and the transfer goes on, in each thread for itself. User and password go to the token's server,
 * which the registry names, so they go there over https only, unless the registry itself is not encrypted.
 * @see distribution, "Token Authentication Specification", "OAuth2 Token Authentication"
 */
import { SourceError } from "../errors.ts";
import type { AgentSettings } from "../http/agents.ts";
import type { Authorizer } from "../http/authorization.ts";
import { basicHeader } from "../http/basic-auth.ts";
import { readDocument } from "../http/document.ts";
import { HttpClient } from "../http/http-client.ts";
import type { SendRequest } from "../http/http-client.ts";
import { defaultHttpOptions } from "../http/http-options.ts";
import { Place } from "../http/place.ts";
import { redactUrl } from "../http/redact.ts";
import { parseChallenges } from "./challenge.ts";
import { parseObject, textAt } from "./json-object.ts";

/** Plain data. It holds secrets. */
export type RegistryLogin =
  | { readonly kind: "password"; readonly user: string; readonly password: string }
  /** What a login left instead of a password: good for tokens only. */
  | { readonly kind: "identity-token"; readonly token: string };

/** Plain data, so that threads can ask by themselves. It holds secrets. */
export interface RegistryAccess {
  /** Whose images are read. */
  readonly repository: string;
  readonly login: RegistryLogin | undefined;
  /** Whether a token may be asked for over plain http. */
  readonly allowsPlain: boolean;
  /** The Authorization header that was taken last; undefined: none yet. */
  readonly header: string | undefined;
}

/** Of the answer with a token; a token of a cloud takes some KiB. */
const MAX_ANSWER_LENGTH = 256 * 1024;

/** What fits into a header that servers take. */
const MAX_TOKEN_LENGTH = 64 * 1024;

export class TokenAuth implements Authorizer {
  readonly #network: AgentSettings;
  #access: RegistryAccess;
  #renewal: Promise<boolean> | undefined;

  constructor(access: RegistryAccess, network: AgentSettings) {
    this.#access = access;
    this.#network = network;
  }

  /** With what is sent at present. */
  get access(): RegistryAccess {
    return this.#access;
  }

  headers(): Promise<readonly (readonly [name: string, value: string])[]> {
    const { header } = this.#access;
    return Promise.resolve(header === undefined ? [] : [["Authorization", header]]);
  }

  /**
   * Requests that are refused at the same time share one new token.
   * @throws SourceError SOURCE_DENIED where the token's server refuses, SOURCE_TLS where it is not encrypted
   */
  async refused(challenge: string | undefined): Promise<boolean> {
    return await (this.#renewal ??= this.#renew(challenge ?? "").finally(() => (this.#renewal = undefined)));
  }

  async #renew(header: string): Promise<boolean> {
    const challenges = parseChallenges(header);
    const bearer = challenges.find(({ scheme }) => scheme === "bearer");
    if (bearer !== undefined) {
      this.#access = { ...this.#access, header: `Bearer ${await this.#token(bearer.parameters)}` };
      return true;
    }
    const { login } = this.#access;
    if (login?.kind !== "password" || !challenges.some(({ scheme }) => scheme === "basic")) return false;
    const basic = basicHeader(login);
    if (this.#access.header === basic) return false;
    this.#access = { ...this.#access, header: basic };
    return true;
  }

  async #token(parameters: Readonly<Record<string, string>>): Promise<string> {
    const { login } = this.#access;
    const url = this.#realm(parameters["realm"] ?? "");
    const query = { service: parameters["service"], scope: `repository:${this.#access.repository}:pull` };
    const { place, request } = login?.kind === "identity-token" ? exchange(url, query, login.token) : ask(url, query);
    const auth = login?.kind === "password" ? ({ ...login, kind: "basic" } as const) : undefined;
    const client = new HttpClient({ ...defaultHttpOptions, ...networkOf(this.#network), auth });
    try {
      const { status, bytes } = await readDocument(client, place, request, MAX_ANSWER_LENGTH);
      if (status !== 200) throw denied(place, status, login !== undefined);
      return tokenIn(bytes, place);
    } finally {
      client.close();
    }
  }

  #realm(text: string): URL {
    const url = URL.parse(text);
    if (url === null || (url.protocol !== "https:" && url.protocol !== "http:") || url.username + url.password !== "") {
      throw new SourceError("SOURCE_DENIED", "the registry asks for a token and does not say where to get it");
    }
    if (url.protocol === "https:" || this.#access.allowsPlain) return url;
    throw new SourceError("SOURCE_TLS", `the registry has its tokens at ${redactUrl(url)}, which is not encrypted`, {
      remedy: "Nothing is asked for there; the registry has to name an https URL.",
    });
  }
}

type Query = Readonly<Record<string, string | undefined>>;

/** A refusal is an answer here. */
const STATUSES = [200, 400, 401, 403, 404];

interface TokenRequest {
  readonly place: Place;
  readonly request: SendRequest;
}

function ask(url: URL, query: Query): TokenRequest {
  for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, value);
  return { place: Place.parse(url.href), request: { method: "GET", statuses: STATUSES } };
}

function exchange(url: URL, query: Query, identityToken: string): TokenRequest {
  const form = new URLSearchParams({ grant_type: "refresh_token", client_id: "decant", refresh_token: identityToken });
  for (const [name, value] of Object.entries(query)) if (value !== undefined) form.set(name, value);
  const headers = { "Content-Type": "application/x-www-form-urlencoded" };
  return {
    place: Place.parse(url.href),
    request: { method: "POST", headers, body: form.toString(), repeats: true, statuses: STATUSES },
  };
}

/** Of the options only those: headers and credentials that were given for the registry are not for the token's server. */
function networkOf({ trust, proxies, userAgent, tunnelUserAgent }: AgentSettings): AgentSettings {
  return { trust, proxies, userAgent, tunnelUserAgent };
}

function tokenIn(bytes: Uint8Array, place: Place): string {
  const answer = parseObject(bytes, `the answer of ${place.name}`);
  const token = textAt(answer, "token") ?? textAt(answer, "access_token") ?? "";
  if (/^[\x21-\x7e]+$/.test(token) && token.length <= MAX_TOKEN_LENGTH) return token;
  throw new SourceError("SOURCE_DENIED", `${place.name} answers without a token`);
}

function denied(place: Place, status: number, hasLogin: boolean): SourceError {
  const message = hasLogin
    ? `${place.name} does not accept the credentials (${status})`
    : `${place.name} gives no token to somebody without credentials (${status})`;
  return new SourceError("SOURCE_DENIED", message, { context: { status } });
}
