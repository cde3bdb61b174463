/**
 * An HTTP server that does on demand what no real server does: cuts, stalls, lies about ranges, redirects in circles.
 *
 * Without a misdeed it serves `bytes` as a good server would, with ranges, If-Range and an ETag, at any path.
 */
import http from "node:http";
import https from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export interface ServerSettings {
  readonly bytes: Buffer;
  /** Undefined: none is sent. */
  readonly etag?: string | undefined;
  readonly lastModified?: string;
  /** What is done wrong with the request of this number, from 1 on. */
  readonly misdeed?: (number: number, request: http.IncomingMessage) => Misdeed | undefined;
  readonly tls?: { readonly key: string; readonly cert: string };
}

export interface Misdeed {
  /** An answer without the image: nothing, or `bytes`. */
  readonly status?: number;
  /** Over those that would be sent; undefined takes one out. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** Served in the place of the image. */
  readonly bytes?: Buffer;
  readonly ignoresRange?: boolean;
  /** Compares no validator, and sends the range. */
  readonly ignoresIfRange?: boolean;
  /** Bytes of the body after which the connection ends. */
  readonly cutAfter?: number;
  /** It is reset then: what the kernels still hold of the body is lost. */
  readonly resets?: boolean;
  /** Bytes of the body after which nothing comes any more, the connection stays open. */
  readonly stallAfter?: number;
  /** Resets the connection before any answer. */
  readonly hangsUp?: boolean;
  /** Sends this many bytes at a time, with a millisecond between. */
  readonly drip?: number;
  /** No Content-Length: `chunked`, or until the connection ends. */
  readonly framing?: "chunked" | "until-closed";
}

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: http.IncomingHttpHeaders;
}

export interface MisbehavingServer {
  /** Without a slash at its end. */
  readonly origin: string;
  readonly requests: readonly SeenRequest[];
  /** Bytes of bodies that were written. */
  readonly served: () => number;
  /** Connections that were made. */
  readonly connections: () => number;
}

/** Runs `use` with a server on the loopback interface, which is gone afterwards. */
export async function withServer<T>(
  settings: ServerSettings,
  use: (server: MisbehavingServer) => Promise<T>,
): Promise<T> {
  const requests: SeenRequest[] = [];
  const sockets = new Set<Socket>();
  const count = { served: 0, connections: 0 };
  const onRequest = (request: http.IncomingMessage, response: http.ServerResponse): void => {
    requests.push({ method: request.method ?? "", path: request.url ?? "", headers: request.headers });
    const misdeed = settings.misdeed?.(requests.length, request) ?? {};
    // Whoever hangs up first is no fault of the server.
    answer(settings, misdeed, request, response, count).catch(() => response.destroy());
  };
  const server =
    settings.tls === undefined ? http.createServer(onRequest) : https.createServer(settings.tls, onRequest);
  server.on("connection", (socket: Socket) => {
    count.connections += 1;
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const origin = `${settings.tls === undefined ? "http" : "https"}://127.0.0.1:${port}`;
  try {
    return await use({ origin, requests, served: () => count.served, connections: () => count.connections });
  } finally {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
}

async function answer(
  settings: ServerSettings,
  misdeed: Misdeed,
  request: http.IncomingMessage,
  response: http.ServerResponse,
  count: { served: number },
): Promise<void> {
  if (misdeed.hangsUp === true) {
    request.socket.resetAndDestroy();
    return;
  }
  if (misdeed.status !== undefined) {
    const length = String(misdeed.bytes?.length ?? 0);
    response.writeHead(misdeed.status, present({ "content-length": length, ...misdeed.headers })).end(misdeed.bytes);
    return;
  }
  const all = misdeed.bytes ?? settings.bytes;
  const range = wantedRange(settings, misdeed, request, all.length);
  const body = range === undefined ? all : all.subarray(range.start, range.end);
  const headers: Record<string, string | undefined> = {
    "accept-ranges": "bytes",
    "content-length": String(body.length),
    etag: settings.etag,
    "last-modified": settings.lastModified,
    ...(range === undefined ? {} : { "content-range": `bytes ${range.start}-${range.end - 1}/${all.length}` }),
    ...misdeed.headers,
  };
  if (misdeed.framing !== undefined) delete headers["content-length"];
  if (misdeed.framing === "until-closed") {
    response.useChunkedEncodingByDefault = false;
    response.shouldKeepAlive = false;
  }
  response.writeHead(range === undefined ? 200 : 206, present(headers));
  await send(response, body, misdeed, count);
}

async function send(
  response: http.ServerResponse,
  body: Buffer,
  misdeed: Misdeed,
  count: { served: number },
): Promise<void> {
  const end = Math.min(body.length, misdeed.cutAfter ?? Infinity, misdeed.stallAfter ?? Infinity);
  const step = misdeed.drip ?? 256 * 1024;
  response.flushHeaders();
  for (let at = 0; at < end; at += step) {
    const piece = body.subarray(at, Math.min(at + step, end));
    await new Promise<void>((resolve, reject) => {
      response.write(piece, (error) => (error == null ? resolve() : reject(error)));
    });
    count.served += piece.length;
    if (misdeed.drip !== undefined) await sleep(1);
  }
  if (misdeed.cutAfter !== undefined && misdeed.resets === true) response.socket?.resetAndDestroy();
  else if (misdeed.cutAfter !== undefined) response.socket?.end();
  else if (misdeed.stallAfter === undefined) response.end();
}

function wantedRange(
  settings: ServerSettings,
  misdeed: Misdeed,
  request: http.IncomingMessage,
  length: number,
): { readonly start: number; readonly end: number } | undefined {
  const parts = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "");
  if (parts === null || misdeed.ignoresRange === true) return undefined;
  const condition = request.headers["if-range"];
  const validator =
    misdeed.headers !== undefined && "etag" in misdeed.headers ? misdeed.headers["etag"] : settings.etag;
  const isMet = condition === undefined || condition === validator || condition === settings.lastModified;
  if (!isMet && misdeed.ignoresIfRange !== true) return undefined;
  const start = Number(parts[1]);
  return { start, end: parts[2] === "" ? length : Math.min(length, Number(parts[2]) + 1) };
}

function present(headers: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
