/**
 * How a client reaches the network and who it says it is. Apart from the client, which is loaded for URLs only.
 */
import type { AgentSettings } from "./agents.ts";
import type { Credentials } from "./authorization.ts";
import { noProxies } from "./proxies.ts";
import type { RateLimit } from "./rate-limit.ts";

/** Plain data. It holds secrets. */
export interface HttpOptions extends AgentSettings {
  /** For the origin that the user named; user info in the URL goes before it. */
  readonly auth: Credentials | undefined;
  /** Name and value; for the origin that the user named. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** How long no byte may come while some are waited for. */
  readonly stallMs: number;
  /** Whether a redirect may lead from https to http: a digest will be checked. */
  readonly allowsDowngrade: boolean;
  /** The server is asked as the registry that it is, so nobody has to be told to name it as one. */
  readonly asRegistry?: boolean;
  /** Bytes to ask for first, by those who look at the start only; more is asked for as it is read. Undefined: all at once. */
  readonly firstLength?: number | undefined;
  /** Shared by all clients that are made from these options or a copy of them, in whatever thread. Undefined: as fast as it comes. */
  readonly rateLimit?: RateLimit | undefined;
}

/** Directly, as nobody, for everything else. */
export const defaultHttpOptions: HttpOptions = {
  trust: { folders: [], insecure: false },
  proxies: noProxies,
  userAgent: "decant",
  auth: undefined,
  headers: [],
  stallMs: 60_000,
  allowsDowngrade: false,
};
