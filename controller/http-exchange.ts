/**
 * One request and its answer, over node:https: to the API server by a kept connection, or to a worker's metrics page.
 *
 * Without a library on purpose: what node-fetch makes for each request (copies of headers, two streams, a signal) took 4 ms of
 * processor time for each call, more than planning an import does.
 */
import http from "node:http";
import https from "node:https";

export interface Question {
  readonly url: string;
  readonly method: string;
  readonly agent: http.Agent;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Breaks it off, also while the answer is read. */
  readonly signal?: AbortSignal | undefined;
  /** Until the answer has been read; it breaks off then, too. */
  readonly timeoutMs: number;
}

export interface Answer {
  readonly status: number;
  readonly body: AsyncIterable<Uint8Array>;
  /** Whatever of the answer is not read is of no interest. */
  drop(): void;
}

/** An answer is longer than the limit for it. */
export class AnswerTooLarge extends Error {}

/** @throws Error of the network, or that it took too long */
export async function ask({ url, method, agent, headers, body, signal, timeoutMs }: Question): Promise<Answer> {
  signal?.throwIfAborted();
  return await new Promise((resolve, reject) => {
    const { request: send } = url.startsWith("https:") ? https : http;
    const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const request = send(url, { method, agent, headers: { ...headers, ...length } });
    const breakOff = (): void => void request.destroy(new Error("it was broken off"));
    const timer = setTimeout(() => request.destroy(new Error(`no answer in ${timeoutMs} ms`)), timeoutMs);
    signal?.addEventListener("abort", breakOff);
    request.on("close", () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", breakOff);
    });
    request.on("error", reject);
    request.on("response", (message) => {
      const { statusCode: status = 0 } = message;
      resolve({ status, body: message, drop: () => void message.destroy() });
    });
    request.end(body);
  });
}

/** @throws AnswerTooLarge */
export async function readText(answer: Answer, maxBytes: number): Promise<string> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of answer.body) {
    length += piece.length;
    if (length > maxBytes) {
      answer.drop();
      throw new AnswerTooLarge(`an answer is longer than ${maxBytes} bytes`);
    }
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8");
}
