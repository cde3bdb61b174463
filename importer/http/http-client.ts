/**
 * Requests over `node-fetch` with agents of our own: redirects, credentials, retries, stalls, and errors that hold no secret.
 *
 * A request that fails for a passing reason before its body began is made again, with growing pauses. What happens to a body
 * that breaks off is decided by those who read it (`resuming-stream.ts`, `range-reader.ts`). The options are plain data: each
 * worker thread makes its own client from them.
 */
import type { Readable } from "node:stream";
import fetch from "node-fetch";
import { Interrupted, UsageError } from "../errors.ts";
import { Agents } from "./agents.ts";
import { authorizerFor } from "./authorization.ts";
import type { Authorizer, Method } from "./authorization.ts";
import { BodyReader } from "./body-reader.ts";
import type { Throttle } from "./body-reader.ts";
import { connectionFailure, stallFailure, statusFailure } from "./failure.ts";
import type { Failure } from "./failure.ts";
import type { HttpOptions } from "./http-options.ts";
import { systemPace } from "./pace.ts";
import type { Pace } from "./pace.ts";
import type { Place } from "./place.ts";
import { proxyFor } from "./proxies.ts";
import { book, pieceLength } from "./rate-limit.ts";
import { isRedirect, nextHop } from "./redirects.ts";
import type { Hop } from "./redirects.ts";
import type { AnswerHeaders } from "./representation.ts";
import { checkHeaders, requestHeaders } from "./request-headers.ts";
import { MAX_ATTEMPTS, retryDelayMs } from "./retry-delay.ts";
import { StallWatch } from "./stall.ts";

export interface GetRequest {
  /** Besides those of the options; to every origin. */
  readonly headers?: Readonly<Record<string, string>>;
  /** What is an answer and no failure: [200], or also 206, 412 and 416 for a range. A redirect among them is not followed. */
  readonly statuses: readonly number[];
  readonly signal?: AbortSignal;
}

export interface SendRequest extends GetRequest {
  readonly method: Method;
  /** Its type is one of the headers. */
  readonly body?: string;
  /** Whether it is made again after a passing failure. Unsaid: yes, but for POST, which may have been heard before it failed. */
  readonly repeats?: boolean;
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
  readonly #authorizer: Authorizer;
  readonly #throttle: Throttle | undefined;
  readonly #closing = new AbortController();

  /**
   * @param authorizer in the place of `options.auth`, for credentials that are renewed
   * @throws UsageError for a header that HTTP does not allow
   */
  constructor(
    options: HttpOptions,
    pace: Pace = systemPace,
    authorizer: Authorizer = authorizerFor(options.auth, options, () => pace.now()),
  ) {
    this.options = options;
    this.pace = pace;
    this.#authorizer = authorizer;
    this.#agents = new Agents(options);
    this.#throttle = throttleOf(options, pace);
    checkHeaders(options);
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
    return await this.send(place, { ...request, method: "GET" });
  }

  /**
   * As `get`. A POST follows no redirect: its body is for the one who was named.
   * @throws SourceError, Interrupted
   */
  async send(place: Place, request: SendRequest): Promise<Answer> {
    const repeats = request.repeats ?? request.method !== "POST";
    const signal = AbortSignal.any([this.#closing.signal, ...(request.signal === undefined ? [] : [request.signal])]);
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#try(place, request, signal);
      if (!("error" in outcome)) return outcome;
      if (!outcome.mayRetry || !repeats || attempt === MAX_ATTEMPTS) throw outcome.error;
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

  async #try(place: Place, request: SendRequest, signal: AbortSignal): Promise<Answer | Failure> {
    const outcome = await this.#follow(place, request, signal);
    if (!("error" in outcome) || !place.isPinned || !EXPIRED.includes(Number(outcome.error.context["status"]))) {
      return outcome;
    }
    place.unpin();
    return await this.#follow(place, request, signal);
  }

  /** One request and the redirects that it is answered with. */
  async #follow(place: Place, request: SendRequest, signal: AbortSignal): Promise<Answer | Failure> {
    const hops: Hop[] = [{ url: place.current, isTrusted: place.isTrusted }];
    for (;;) {
      const hop = hops.at(-1);
      if (hop === undefined) throw new Error("no URL to ask");
      const outcome = await this.#askAsSomebody(place, hop, request, signal);
      if ("error" in outcome) return outcome;
      const isAnswer = !isRedirect(outcome.status) || request.statuses.includes(outcome.status);
      if (isAnswer || request.method === "POST" || place.isSecret) {
        if (hops.length > 1) place.pin(hop.url, hop.isTrusted);
        if (request.statuses.includes(outcome.status)) return outcome;
        outcome.body.close();
        return statusFailure(outcome, place, this.pace.now(), this.options.asRegistry === true);
      }
      outcome.body.close();
      hops.push(nextHop(hops, outcome.headers.get("location"), this.options));
    }
  }

  /** Once more with other credentials, where those that were sent are refused and there are others. */
  async #askAsSomebody(place: Place, hop: Hop, request: SendRequest, signal: AbortSignal): Promise<Answer | Failure> {
    const outcome = await this.#ask(place, hop, request, signal);
    if ("error" in outcome || outcome.status !== 401 || !hop.isTrusted || place.auth !== undefined) return outcome;
    if ((await this.#authorizer.refused?.(outcome.headers.get("www-authenticate") ?? undefined)) !== true)
      return outcome;
    outcome.body.close();
    return await this.#ask(place, hop, request, signal);
  }

  async #ask(place: Place, hop: Hop, request: SendRequest, signal: AbortSignal): Promise<Answer | Failure> {
    const headers = await requestHeaders({ options: this.options, authorizer: this.#authorizer }, place, hop, request);
    const watch = new StallWatch(this.options.stallMs, signal);
    watch.start();
    try {
      const response = await fetch(hop.url, {
        agent: this.#agents.for(hop.url),
        method: request.method,
        body: request.body ?? null,
        headers,
        redirect: "manual",
        compress: false,
        signal: watch.signal,
      });
      watch.stop();
      const body = new BodyReader(response.body as Readable, watch, this.#throttle);
      return { status: response.status, headers: response.headers, body };
    } catch (error) {
      const { stalled, limitMs } = watch;
      watch.abort();
      if (error instanceof UsageError) throw error;
      if (signal.aborted) throw new Interrupted();
      return stalled
        ? stallFailure(place, limitMs)
        : connectionFailure(error, place, proxyFor(hop.url, this.options.proxies));
    }
  }
}

function throttleOf({ rateLimit }: HttpOptions, pace: Pace): Throttle | undefined {
  if (rateLimit === undefined) return undefined;
  return {
    pieceLength: pieceLength(rateLimit),
    taken: (bytes, signal) => pace.delay(book(rateLimit, bytes, pace.ticks()), signal),
  };
}
