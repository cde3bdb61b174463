/**
 * How a request says who asks: user and password, or a token. Sent to the origin that the user named, never further.
 *
 * Credentials are plain data, so that worker threads ask with the same ones. What has to be renewed while a transfer lasts
 * (a registry's token, a cloud's) is an Authorizer of its source's own, which the main thread's client is given.
 */
import { basicHeader } from "./basic-auth.ts";
import type { BasicAuth } from "./basic-auth.ts";

/** Plain data. It holds secrets. */
export type Credentials =
  | ({ readonly kind: "basic" } & BasicAuth)
  | { readonly kind: "bearer"; readonly token: string };

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

export function authorizerFor(credentials: Credentials | undefined): Authorizer {
  if (credentials === undefined) return anonymous;
  const value = credentials.kind === "basic" ? basicHeader(credentials) : `Bearer ${credentials.token}`;
  return { headers: () => Promise.resolve([["Authorization", value]]) };
}
