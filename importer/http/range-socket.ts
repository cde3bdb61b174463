/**
 * A kept connection that reads ranges into the caller's memory: the kernel writes a body to where it is wanted.
 *
 * Node.js's own HTTP clients make a new buffer for each 64 KiB, and to be rid of them a thread collects garbage a hundred
 * times a gigabyte: for a plain qcow2 of 1 GB two threads took 9.4 s of CPU and 240 MB of memory, with this 1.5 s and 134 MB.
 * It speaks just enough of HTTP/1.1 (RFC 9112) for the answer that is hoped for, a 206 with a length. Whatever else comes is
 * no failure here: the connection ends, and the client that understands all of it asks again.
 */
import net from "node:net";
import tls from "node:tls";
import { localLookup } from "./local-lookup.ts";
import { contentLength } from "./representation.ts";
import type { AnswerHeaders } from "./representation.ts";

export interface SocketTarget {
  readonly url: URL;
  /** For https. */
  readonly tls: tls.ConnectionOptions | undefined;
  /** How long no byte may come while some are waited for. */
  readonly stallMs: number;
}

/** Longer heads are for the other client. */
const MAX_HEAD_LENGTH = 32 * 1024;

const HEAD_END = Buffer.from("\r\n\r\n");

interface Exchange {
  readonly into: Uint8Array;
  /** Whether the answer is the one that is hoped for. */
  readonly fits: (status: number, headers: AnswerHeaders) => boolean;
  readonly done: () => void;
  filled: number;
  hasHead: boolean;
}

export class RangeSocket {
  readonly #socket: net.Socket;
  readonly #head = Buffer.allocUnsafeSlow(MAX_HEAD_LENGTH);
  #headLength = 0;
  #exchange: Exchange | undefined;
  #isOpen = true;
  #isMisfit = false;
  /** The server ends the connection after this answer. */
  #isLast = false;

  constructor({ url, tls: security, stallMs }: SocketTarget) {
    const onread = {
      buffer: () => this.#free(),
      callback: (count: number) => this.#received(count),
    };
    // A URL has an IPv6 address in brackets.
    const host = url.hostname.replace(/^\[|\]$/g, "");
    const port = Number(url.port) || (url.protocol === "https:" ? 443 : 80);
    const options = { host, port, lookup: localLookup, onread };
    this.#socket =
      security === undefined
        ? net.connect(options)
        : tls.connect({ ...security, ...options, ...(net.isIP(host) === 0 ? { servername: host } : {}) });
    this.#socket.setNoDelay(true);
    this.#socket.setTimeout(stallMs, () => this.close());
    this.#socket.on("error", () => this.close());
    this.#socket.on("close", () => this.close());
    this.#socket.on("end", () => this.close());
  }

  /** Ready for the next range. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** It ended because an answer came that was not the one that was hoped for. */
  get isMisfit(): boolean {
    return this.#isMisfit;
  }

  /**
   * Sends `request`, a whole one, and fills `into`, which is not written to any more once this settles.
   * @returns how many bytes came; all of `into`, or fewer with the connection at an end
   */
  async fill(into: Uint8Array, request: string, fits: Exchange["fits"]): Promise<number> {
    if (!this.#isOpen) return 0;
    this.#socket.ref();
    return await new Promise<number>((resolve) => {
      const exchange = {
        into,
        fits,
        filled: 0,
        hasHead: false,
        done: () => {
          this.#exchange = undefined;
          this.#socket.unref(); // a connection that waits keeps no process alive
          resolve(exchange.filled);
        },
      };
      this.#exchange = exchange;
      this.#headLength = 0;
      this.#socket.write(request, "latin1");
    });
  }

  close(): void {
    this.#isOpen = false;
    this.#socket.destroy();
    this.#exchange?.done();
  }

  /** Where the next bytes go: to the caller once the head is over. */
  #free(): Uint8Array {
    const exchange = this.#exchange;
    if (exchange?.hasHead === true) return exchange.into.subarray(exchange.filled);
    return this.#head.subarray(this.#headLength);
  }

  /** False stops the socket; the next buffer is asked for afterwards. */
  #received(count: number): boolean {
    const exchange = this.#exchange;
    if (exchange === undefined) {
      this.close(); // bytes that nobody asked for
      return false;
    }
    if (exchange.hasHead) exchange.filled += count;
    else if (!this.#headGrew(exchange, count)) {
      this.#isMisfit = true;
      this.close();
    }
    if (exchange.hasHead && exchange.filled === exchange.into.length) {
      if (this.#isLast) this.close();
      else exchange.done();
    }
    return this.#isOpen;
  }

  /** False: this is no answer for us. */
  #headGrew(exchange: Exchange, count: number): boolean {
    this.#headLength += count;
    const end = this.#head.subarray(0, this.#headLength).indexOf(HEAD_END);
    if (end < 0) return this.#headLength < MAX_HEAD_LENGTH;
    const head = parseHead(this.#head.toString("latin1", 0, end));
    if (head === undefined || !exchange.fits(head.status, head.headers)) return false;
    if (head.headers.get("transfer-encoding") !== null) return false;
    if (contentLength(head.headers) !== exchange.into.length) return false;
    const body = this.#head.subarray(end + HEAD_END.length, this.#headLength);
    if (body.length > exchange.into.length) return false;
    this.#isLast = /\bclose\b/i.test(head.headers.get("connection") ?? "");
    exchange.into.set(body);
    exchange.filled = body.length;
    exchange.hasHead = true;
    this.#headLength = 0;
    return true;
  }
}

/** Undefined for what is not plainly an HTTP/1.1 answer. */
function parseHead(text: string): { readonly status: number; readonly headers: AnswerHeaders } | undefined {
  const [first = "", ...lines] = text.split("\r\n");
  const status = /^HTTP\/1\.1 (\d{3})(?: |$)/.exec(first)?.[1];
  if (status === undefined) return undefined;
  const fields = new Map<string, string>();
  for (const line of lines) {
    // The spaces around a value are not part of the pattern: 32 KiB of them took it six seconds.
    const parts = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):(.*)$/.exec(line);
    const name = parts?.[1]?.toLowerCase();
    // A line that is folded, or a field that comes twice, is left to those who know what it means.
    if (name === undefined || (DECIDING.has(name) && fields.has(name))) return undefined;
    fields.set(name, parts?.[2]?.trim() ?? "");
  }
  return { status: Number(status), headers: { get: (name) => fields.get(name.toLowerCase()) ?? null } };
}

const DECIDING = new Set(["content-length", "content-range", "content-encoding", "etag", "last-modified"]);
