/**
 * A login to an oVirt engine: user and password for a token, as the official clients do it (OAuth 2, password grant, RFC 6749
 * 4.3). The token goes with each request; when it has expired the login is made again, once for each request.
 */
import { SourceError } from "../errors.ts";
import type { Authorizer } from "../http/authorization.ts";
import { readDocument } from "../http/document.ts";
import type { Document } from "../http/document.ts";
import type { HttpClient } from "../http/http-client.ts";
import { Place } from "../http/place.ts";
import { plainText } from "../http/redact.ts";

const TOKEN_PATH = "/ovirt-engine/sso/oauth/token";
const LOGOUT_PATH = "/ovirt-engine/services/sso-logout";
const SCOPE = "ovirt-app-api";

/** A token is some hundred bytes. */
const MAX_ANSWER_LENGTH = 64 * 1024;

/** What a header can hold. */
const TOKEN = /^[\x21-\x7e]{1,8192}$/;

/** The engine's ways to say no; what it answers tells why. */
const REFUSALS: readonly number[] = [400, 401, 403];

const REMEDY = "Check user and password; oVirt wants the user with its profile, admin@internal for instance.";

const FORM = { "Content-Type": "application/x-www-form-urlencoded", Accept: "application/json" };

export interface Login {
  readonly user: string;
  readonly password: string;
}

export class EngineSession implements Authorizer {
  readonly #client: HttpClient;
  readonly #engine: URL;
  readonly #login: Login;
  #token: string | undefined;

  /** @param client sends no credentials of its own */
  constructor(client: HttpClient, engine: URL, login: Login) {
    this.#client = client;
    this.#engine = engine;
    this.#login = login;
  }

  /** @throws SourceError SOURCE_DENIED, or as the request goes */
  async login(signal?: AbortSignal): Promise<void> {
    const { user, password } = this.#login;
    const form = { grant_type: "password", scope: SCOPE, username: user, password };
    const answer = await this.#post(TOKEN_PATH, form, [200, ...REFUSALS], signal);
    const { access_token: token, ...rest } = fieldsOf(answer.bytes);
    if (answer.status === 200 && typeof token === "string" && TOKEN.test(token)) {
      this.#token = token;
      return;
    }
    const isRefused = answer.status !== 200 || "error" in rest;
    const what = isRefused ? "refuses the login" : "answers a login with something else than a token";
    throw new SourceError(
      isRefused ? "SOURCE_DENIED" : "SOURCE_UNAVAILABLE",
      `the oVirt engine at ${this.#engine.host} ${what}${this.#reason(rest)}`,
      {
        remedy: isRefused ? REMEDY : "Check whether the URL is an oVirt engine's.",
        context: { status: answer.status },
      },
    );
  }

  async headers(): Promise<readonly (readonly [name: string, value: string])[]> {
    if (this.#token === undefined) await this.login();
    return [["Authorization", `Bearer ${this.#token ?? ""}`]];
  }

  async refused(): Promise<boolean> {
    await this.login();
    return true;
  }

  /** Gives the token back. It would expire by itself, so no failure counts. */
  async logout(): Promise<void> {
    if (this.#token === undefined) return;
    const token = this.#token;
    this.#token = undefined;
    await this.#post(LOGOUT_PATH, { scope: SCOPE, token }, [200], undefined, false).catch(() => undefined);
  }

  /** The engine's own words, on one line; an engine that repeats what it was sent is not quoted with it. */
  shown(text: string): string {
    const secrets = [this.#login.password, this.#token ?? ""].filter((secret) => secret !== "");
    return plainText(secrets.reduce((left, secret) => left.replaceAll(secret, "…"), text));
  }

  #reason(fields: Readonly<Record<string, unknown>>): string {
    const { error_description: description, error } = fields;
    const text = typeof description === "string" ? description : error;
    return typeof text === "string" && text !== "" ? `: ${this.shown(text)}` : "";
  }

  async #post(
    path: string,
    form: Readonly<Record<string, string>>,
    statuses: readonly number[],
    signal: AbortSignal | undefined,
    repeats = true,
  ): Promise<Document> {
    const body = new URLSearchParams(form).toString();
    const request = { method: "POST", headers: FORM, body, statuses, repeats, ...(signal && { signal }) } as const;
    return await readDocument(this.#client, Place.parse(new URL(path, this.#engine).href), request, MAX_ANSWER_LENGTH);
  }
}

/** Of a JSON object, or of the only one in a list; none of anything else. */
function fieldsOf(json: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(json));
    const first: unknown = Array.isArray(value) ? value[0] : value;
    return typeof first === "object" && first !== null ? (first as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
