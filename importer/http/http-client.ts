/**
 * GET over `node-fetch` with agents of our own: redirects, credentials, retries, stalls, and errors that hold no secret.
 *
 * A request that fails for a passing reason before its body began is made again, with growing pauses. What happens to a body
 * that breaks off is decided by those who read it (`resuming-stream.ts`, `range-reader.ts`). The options are plain data: each
 * worker thread makes its own client from them.
 */
import { validateHeaderName, validateHeaderValue } from "node:http";
import type { Readable } from "node:stream";
import fetch from "node-fetch";
import { Interrupted, UsageError } from "../errors.ts";
import { Agents } from "./agents.ts";
import type { AgentSettings } from "./agents.ts";
import { basicHeader } from "./basic-auth.ts";
import type { BasicAuth } from "./basic-auth.ts";
import { BodyReader } from "./body-reader.ts";
import { connectionFailure, stallFailure, statusFailure } from "./failure.ts";
import type { Failure } from "./failure.ts";
import { systemPace } from "./pace.ts";
import type { Pace } from "./pace.ts";
import type { Place } from "./place.ts";
import { noProxies } from "./proxies.ts";
import { isRedirect, nextHop } from "./redirects.ts";
import type { Hop } from "./redirects.ts";
import type { AnswerHeaders } from "./representation.ts";
import { MAX_ATTEMPTS, retryDelayMs } from "./retry-delay.ts";
import { StallWatch } from "./stall.ts";

/** Plain data. It holds secrets. */
export interface HttpOptions extends AgentSettings {
  /** For the origin that the user named; user info in the URL goes before it. */
  readonly auth: BasicAuth | undefined;
  /** Name and value; for the origin that the user named. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** How long no byte may come while some are waited for. */
  readonly stallMs: number;
  /** Whether a redirect may lead from https to http: a digest will be checked. */
  readonly allowsDowngrade: boolean;
}

export const defaultHttpOptions: HttpOptions = {
  trust: { folders: [], insecure: false },
  proxies: noProxies,
  userAgent: "decant",
  auth: undefined,
  headers: [],
  stallMs: 60_000,
  allowsDowngrade: false,
};

export interface GetRequest {
  /** Besides those of the options; to every origin. */
  readonly headers?: Readonly<Record<string, string>>;
  /** What is an answer and no failure: [200], or also 206, 412 and 416 for a range. */
  readonly statuses: readonly number[];
  readonly signal?: AbortSignal;
}

export interface Answer {
  readonly status: number;
  readonly headers: AnswerHeaders;
  /** To be closed. */
  readonly body: BodyReader;
}

/** Answers that say that what a redirect led to is gone or closed by now. */
const EXPIRED: readonly number[] = [401, 403, 404, 410];

export class HttpClient {
  readonly options: HttpOptions;
  readonly pace: Pace;
  readonly #agents: Agents;
  readonly #closing = new AbortController();

  /** @throws UsageError for a header that HTTP does not allow */
  constructor(options: HttpOptions, pace: Pace = systemPace) {
    this.options = options;
    this.pace = pace;
    this.#agents = new Agents(options);
    for (const [name, value] of options.headers) checkHeader(name, value.trim());
  }

  /** What was left out of the certificates. Complete once a request was made. */
  get warnings(): readonly string[] {
    return this.#agents.warnings;
  }

  /**
   * Asks for `place`, again if need be.
   * @throws SourceError; Interrupted once the signal or the client ended it
   */
  async get(place: Place, request: GetRequest): Promise<Answer> {
    const signal = AbortSignal.any([this.#closing.signal, ...(request.signal === undefined ? [] : [request.signal])]);
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#try(place, request, signal);
      if (!("error" in outcome)) return outcome;
      if (!outcome.mayRetry || attempt === MAX_ATTEMPTS) throw outcome.error;
      await this.wait(attempt, outcome.retryAfterMs, signal);
    }
  }

  /** The pause after a failed attempt, counted from 1 on. */
  async wait(attempt: number, retryAfterMs?: number, signal: AbortSignal = this.#closing.signal): Promise<void> {
    try {
      await this.pace.delay(retryDelayMs(attempt, this.pace.random(), retryAfterMs), signal);
    } catch (error) {
      if (signal.aborted) throw new Interrupted();
      throw error;
    }
  }

  /** Ends all requests. */
  close(): void {
    this.#closing.abort();
    this.#agents.close();
  }

  async #try(place: Place, request: GetRequest, signal: AbortSignal): Promise<Answer | Failure> {
    const outcome = await this.#follow(place, request, signal);
    if (!("error" in outcome) || !place.isPinned || !EXPIRED.includes(Number(outcome.error.context["status"]))) {
      return outcome;
    }
    place.unpin();
    return await this.#follow(place, request, signal);
  }

  /** One request and the redirects that it is answered with. */
  async #follow(place: Place, request: GetRequest, signal: AbortSignal): Promise<Answer | Failure> {
    const hops: Hop[] = [{ url: place.current, isTrusted: place.isTrusted }];
    for (;;) {
      const hop = hops.at(-1);
      if (hop === undefined) throw new Error("no URL to ask");
      const outcome = await this.#ask(place, hop, request, signal);
      if ("error" in outcome) return outcome;
      if (!isRedirect(outcome.status)) {
        if (hops.length > 1) place.pin(hop.url, hop.isTrusted);
        if (request.statuses.includes(outcome.status)) return outcome;
        outcome.body.close();
        return statusFailure(outcome.status, outcome.headers, place, this.pace.now());
      }
      outcome.body.close();
      hops.push(nextHop(hops, outcome.headers.get("location"), this.options));
    }
  }

  async #ask(place: Place, hop: Hop, request: GetRequest, signal: AbortSignal): Promise<Answer | Failure> {
    const watch = new StallWatch(this.options.stallMs, signal);
    watch.start();
    try {
      const response = await fetch(hop.url, {
        agent: this.#agents.for(hop.url),
        headers: [...this.#headers(place, hop), ...Object.entries(request.headers ?? {})],
        redirect: "manual",
        // Bytes as they are stored: those that are counted, hashed and asked for by range.
        compress: false,
        signal: watch.signal,
      });
      watch.stop();
      const body = new BodyReader(response.body as Readable, watch);
      return { status: response.status, headers: response.headers, body };
    } catch (error) {
      const { stalled, limitMs } = watch;
      watch.abort();
      if (error instanceof UsageError) throw error;
      if (signal.aborted) throw new Interrupted();
      return stalled ? stallFailure(place, limitMs) : connectionFailure(error, place);
    }
  }

  #headers(place: Place, hop: Hop): [string, string][] {
    const own: [string, string][] = [
      ["User-Agent", this.options.userAgent],
      ["Accept", "*/*"],
      ["Accept-Encoding", "identity"],
    ];
    if (!hop.isTrusted) return own;
    const auth = place.auth ?? this.options.auth;
    if (auth !== undefined) own.push(["Authorization", basicHeader(auth)]);
    const extra = this.options.headers.map(([name, value]): [string, string] => [name, value.trim()]);
    const named = new Set(extra.map(([name]) => name.toLowerCase()));
    return [...own.filter(([name]) => !named.has(name.toLowerCase())), ...extra];
  }
}

function checkHeader(name: string, value: string): void {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  } catch {
    // Neither name nor value is shown: a header without its colon is all name, and the secret is in it.
    throw new UsageError("an extra header has a name or a value that HTTP does not allow");
  }
}
