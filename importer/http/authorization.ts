/**
 * How a request says who asks: user and password, a token, or a signature. Sent to the origin that the user named, never
 * further.
 *
 * Credentials are plain data, so that worker threads ask with the same ones; those of a cloud or a registry renew
 * themselves in each thread. What else has to be renewed while a transfer lasts is an Authorizer of its source's own, which
 * the main thread's client is given.
 */
import type { AwsSigning } from "../cloud/aws-authorizer.ts";
import type { GoogleToken } from "../cloud/google-token.ts";
import type { RegistryAccess } from "../oci/token-auth.ts";
import type { AgentSettings } from "./agents.ts";
import { basicHeader } from "./basic-auth.ts";
import type { BasicAuth } from "./basic-auth.ts";

/** Plain data. It holds secrets. */
export type Credentials =
  | ({ readonly kind: "basic" } & BasicAuth)
  | { readonly kind: "bearer"; readonly token: string }
  | ({ readonly kind: "aws" } & AwsSigning)
  | ({ readonly kind: "google" } & GoogleToken)
  | ({ readonly kind: "registry" } & RegistryAccess);

/** POST is the only one that may change something. */
export type Method = "GET" | "OPTIONS" | "POST";

/** A request as it is about to be sent. Signatures cover parts of it. */
export interface UnsignedRequest {
  readonly method: Method;
  readonly url: URL;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

export interface Authorizer {
  /** What is sent besides the request's own headers. @throws SourceError SOURCE_DENIED where there are no credentials to be had */
  headers(request: UnsignedRequest): Promise<readonly (readonly [name: string, value: string])[]>;
  /**
   * The server answered 401: whether there are other credentials now, so that the request is worth making once more.
   * @param challenge its WWW-Authenticate, a stranger's text
   */
  refused?(challenge: string | undefined): Promise<boolean>;
}

export const anonymous: Authorizer = { headers: () => Promise.resolve([]) };

/**
 * @param network how new credentials are asked for
 * @param now     milliseconds since 1970
 */
export function authorizerFor(
  credentials: Credentials | undefined,
  network: AgentSettings,
  now: () => number,
): Authorizer {
  if (credentials === undefined) return anonymous;
  if (credentials.kind === "basic") return basicAuthorizer(credentials);
  if (credentials.kind !== "bearer") return deferred(() => load(credentials, network, now));
  return { headers: () => Promise.resolve([["Authorization", `Bearer ${credentials.token}`]]) };
}

export function basicAuthorizer(auth: BasicAuth): Authorizer {
  return { headers: () => Promise.resolve([["Authorization", basicHeader(auth)]]) };
}

type Renewed = Exclude<Credentials, { readonly kind: "basic" | "bearer" }>;

/** What it takes to sign or to renew is loaded for those who need it. */
async function load(credentials: Renewed, network: AgentSettings, now: () => number): Promise<Authorizer> {
  if (credentials.kind === "aws") {
    const { AwsAuthorizer } = await import("../cloud/aws-authorizer.ts");
    return new AwsAuthorizer(credentials, network, now);
  }
  if (credentials.kind === "google") {
    const { GoogleAuthorizer } = await import("../cloud/google-token.ts");
    return new GoogleAuthorizer(credentials, network, now);
  }
  const { TokenAuth } = await import("../oci/token-auth.ts");
  return new TokenAuth(credentials, network);
}

/** Loads for the first request. */
function deferred(loadIt: () => Promise<Authorizer>): Authorizer {
  let loading: Promise<Authorizer> | undefined;
  const loaded = (): Promise<Authorizer> => (loading ??= loadIt());
  return {
    headers: async (request) => await (await loaded()).headers(request),
    refused: async (challenge) => (await (await loaded()).refused?.(challenge)) ?? false,
  };
}
