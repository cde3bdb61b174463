/**
 * Ranges of a place over kept sockets, where nothing stands between: no proxy, no limit of the rate. An attempt, not a
 * client: what does not come this way is asked for by the RangeReader, which knows redirects, refusals and retries, and says
 * what is wrong.
 */
import { authorizerFor } from "./authorization.ts";
import type { Authorizer } from "./authorization.ts";
import { checkRangeAnswer, rangeHeaders } from "./continuation.ts";
import type { HttpOptions } from "./http-options.ts";
import { isRefusal } from "./lanes.ts";
import { Place } from "./place.ts";
import { proxyFor } from "./proxies.ts";
import type { RangeSpec } from "./range-reader.ts";
import { RangeSocket } from "./range-socket.ts";
import type { SocketTarget } from "./range-socket.ts";
import type { AnswerHeaders, Representation } from "./representation.ts";
import { isHeader, requestHeaders } from "./request-headers.ts";
import { trustedConnection } from "./tls-trust.ts";

/** After so many answers that did not fit, one after the other, the server is left to the other client. */
const MAX_MISFITS = 3;

export class DirectRanges {
  readonly #options: HttpOptions;
  readonly #place: Place;
  readonly #whole: Representation;
  readonly #authorizer: Authorizer;
  readonly #target: SocketTarget;
  readonly #idle: RangeSocket[] = [];
  readonly #busy = new Set<RangeSocket>();
  #misfits = 0;
  #isClosed = false;

  private constructor(options: HttpOptions, spec: RangeSpec) {
    this.#options = options;
    this.#place = Place.fromSpec(spec.place);
    this.#whole = spec.representation;
    this.#authorizer = authorizerFor(options.auth, options, () => Date.now());
    const url = this.#place.current;
    const security = url.protocol === "https:" ? trustedConnection(options.trust).options : undefined;
    this.#target = { url, stallMs: options.stallMs, tls: security };
  }

  /** False where something stands between. @throws UsageError for a proxy of an unknown kind */
  static reaches(options: HttpOptions, spec: RangeSpec): boolean {
    return options.rateLimit === undefined && proxyFor(new URL(spec.place.current), options.proxies) === undefined;
  }

  /** Undefined where something stands between. @throws as `reaches` */
  static open(options: HttpOptions, spec: RangeSpec): DirectRanges | undefined {
    return DirectRanges.reaches(options, spec) ? new DirectRanges(options, spec) : undefined;
  }

  /**
   * Fills `into` from `offset` on, as far as it goes. May be called while other ranges are on their way.
   * @param onRefused called if the server has too much to do
   * @returns how many bytes came, from none to all; never throws for what a server does
   */
  async read(into: Uint8Array, offset: number, onRefused: () => void): Promise<number> {
    if (this.#misfits >= MAX_MISFITS || this.#isClosed) return 0;
    const range = { start: offset, end: offset + into.length };
    const request = await this.#request(range);
    if (request === undefined) return 0;
    let isRefused = false;
    const fits = (status: number, headers: AnswerHeaders): boolean => {
      isRefused = isRefusal(status);
      return this.#fits(status, headers, range);
    };
    const kept = this.#takeKept();
    let count = kept === undefined ? 0 : await this.#fill(kept, into, request, fits);
    // A server may have ended a connection that was idle.
    if (count === 0 && !isRefused) count = await this.#fill(new RangeSocket(this.#target), into, request, fits);
    if (isRefused) {
      this.#misfits = 0; // no way of this server's to answer, but one that passes
      onRefused();
    }
    return count;
  }

  close(): void {
    this.#isClosed = true;
    for (const socket of [...this.#busy, ...this.#idle]) socket.close();
  }

  #takeKept(): RangeSocket | undefined {
    let socket = this.#idle.pop();
    while (socket !== undefined && !socket.isOpen) socket = this.#idle.pop();
    return socket;
  }

  async #fill(...[socket, ...exchange]: [RangeSocket, ...Parameters<RangeSocket["fill"]>]): Promise<number> {
    this.#busy.add(socket);
    const count = this.#isClosed ? 0 : await socket.fill(...exchange);
    this.#busy.delete(socket);
    // No answer at all may be one the next time: the network is allowed to fail.
    if (socket.isMisfit) this.#misfits += 1;
    else if (count > 0) this.#misfits = 0;
    if (count === exchange[0].length && socket.isOpen) this.#idle.push(socket);
    else socket.close();
    return count;
  }

  /** Undefined where a header cannot be sent: the other client says so. */
  async #request(range: { readonly start: number; readonly end: number }): Promise<string | undefined> {
    const url = this.#place.current;
    const asker = { options: this.#options, authorizer: this.#authorizer };
    const hop = { url, isTrusted: this.#place.isTrusted };
    const asked = { method: "GET", headers: rangeHeaders(range, this.#whole) } as const;
    const headers = await requestHeaders(asker, this.#place, hop, asked);
    // Credentials may be a stranger's text.
    if (!headers.every(([name, value]) => isHeader(name, value))) return undefined;
    const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`);
    const host = headers.some(([name]) => name.toLowerCase() === "host") ? "" : `Host: ${url.host}\r\n`;
    return `GET ${url.pathname}${url.search} HTTP/1.1\r\n${host}${lines.join("")}Connection: keep-alive\r\n\r\n`;
  }

  #fits(status: number, headers: AnswerHeaders, range: { readonly start: number; readonly end: number }): boolean {
    const encoding = headers.get("content-encoding") ?? "identity";
    if (status !== 206 || encoding.toLowerCase() !== "identity") return false;
    try {
      const { end } = checkRangeAnswer({ status, headers }, range, this.#whole, this.#place);
      return end === range.end;
    } catch {
      return false; // the other client asks again, and says it
    }
  }
}
