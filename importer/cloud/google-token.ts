/**
 * Tokens for Google Cloud Storage: of a credentials file (a service account's JSON, a login's), else of what this machine
 * offers (gcloud's login, a federated identity, the metadata service).
 *
 * The token is plain data for worker threads. Each thread asks for a new one shortly before it expires, or once it is refused.
 */
import fs from "node:fs";
import type { Agent } from "node:http";
import type { AuthClient, JWTInput } from "google-auth-library";
import { SourceError } from "../errors.ts";
import { Agents } from "../http/agents.ts";
import type { AgentSettings } from "../http/agents.ts";
import type { Authorizer } from "../http/authorization.ts";

/** Plain data. It holds secrets. */
export interface GoogleToken {
  readonly token: string;
  /** Since 1970; undefined: unknown. */
  readonly expiresAtMs: number | undefined;
  /** Where it came from; undefined: this machine. */
  readonly credentialsFile: string | undefined;
}

interface ClientOptions {
  readonly scopes: string[];
  readonly transporterOptions: { readonly agent: (url: URL) => Agent };
}

const SCOPE = "https://www.googleapis.com/auth/devstorage.read_only";

/** How long before it expires a new one is asked for. */
const RENEWAL_MS = 3 * 60 * 1000;

/** What the library says where a machine has none. */
const NONE_FOUND = /^Could not load the default credentials/;

/** A service account's is 2.4 kB. */
const MAX_FILE_LENGTH = 64 * 1024;

/**
 * Undefined: this machine has none, so one asks as anybody.
 * @param credentialsFile undefined: what this machine has
 * @throws SourceError SOURCE_DENIED for a file that cannot be read or is refused
 */
export async function findGoogleToken(
  credentialsFile: string | undefined,
  network: AgentSettings,
): Promise<GoogleToken | undefined> {
  const google = await import("google-auth-library");
  const agents = new Agents(network);
  const options = { scopes: [SCOPE], transporterOptions: { agent: (url: URL) => agents.for(url) } };
  try {
    const client =
      credentialsFile === undefined
        ? // The project is not needed; without a name for it the library would run gcloud to learn one.
          await new google.GoogleAuth({ scopes: [SCOPE], projectId: "none", clientOptions: options }).getClient()
        : clientFor(readJson(credentialsFile), google, options);
    const { token } = await client.getAccessToken();
    if (typeof token !== "string" || token === "") throw new Error("no token");
    return { token, expiresAtMs: client.credentials.expiry_date ?? undefined, credentialsFile };
  } catch (error) {
    if (credentialsFile === undefined && error instanceof Error && NONE_FOUND.test(error.message)) return undefined;
    throw unavailable(error, credentialsFile);
  } finally {
    agents.close();
  }
}

/** By its kind: what else the library would take from a file could have a program run. */
function clientFor(json: JWTInput, google: typeof import("google-auth-library"), options: ClientOptions): AuthClient {
  if (json.type === "service_account") {
    const { client_email: email, private_key: key, private_key_id: keyId } = json;
    return new google.JWT({ ...options, ...given({ email, key, keyId }) });
  }
  if (json.type === "authorized_user") {
    const { client_id: clientId, client_secret: clientSecret, refresh_token: refreshToken } = json;
    return new google.UserRefreshClient({ ...options, ...given({ clientId, clientSecret, refreshToken }) });
  }
  throw new Error("another kind of credentials");
}

/** Those that are text. */
function given(fields: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
  );
}

function readJson(file: string): JWTInput {
  if (fs.statSync(file).size > MAX_FILE_LENGTH) throw new Error("too long");
  const json: unknown = JSON.parse(fs.readFileSync(file, "utf8"));
  if (typeof json !== "object" || json === null) throw new Error("no object");
  return json;
}

export class GoogleAuthorizer implements Authorizer {
  readonly #network: AgentSettings;
  readonly #now: () => number;
  #current: GoogleToken;
  #renewal: Promise<boolean> | undefined;

  /** @param now milliseconds since 1970 */
  constructor(first: GoogleToken, network: AgentSettings, now: () => number) {
    this.#current = first;
    this.#network = network;
    this.#now = now;
  }

  async headers(): Promise<readonly (readonly [name: string, value: string])[]> {
    const { expiresAtMs } = this.#current;
    if (expiresAtMs !== undefined && this.#now() > expiresAtMs - RENEWAL_MS) await this.refused();
    return [["Authorization", `Bearer ${this.#current.token}`]];
  }

  /** Many requests are refused at once, and one new token serves them all. */
  async refused(): Promise<boolean> {
    return await (this.#renewal ??= this.#renew().finally(() => (this.#renewal = undefined)));
  }

  async #renew(): Promise<boolean> {
    const renewed = await findGoogleToken(this.#current.credentialsFile, this.#network);
    if (renewed === undefined || renewed.token === this.#current.token) return false;
    this.#current = renewed;
    return true;
  }
}

/** Without the cause: it holds the request, and the request the signed claim. */
function unavailable(error: unknown, credentialsFile: string | undefined): SourceError {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const reason = /^\w{1,64}$/.test(code) ? ` (${code})` : "";
  const whose = credentialsFile === undefined ? "of this machine" : `in ${credentialsFile}`;
  return new SourceError("SOURCE_DENIED", `the Google credentials ${whose} give no token${reason}`, {
    remedy:
      "Check that they are a service account's JSON, that it still has this key, and that this machine's clock is right.",
  });
}
