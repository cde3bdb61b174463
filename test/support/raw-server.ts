/**
 * A server that writes what a test tells it, byte for byte: for answers that no HTTP library sends.
 */
import net from "node:net";
import type { AddressInfo, Socket } from "node:net";
import tls from "node:tls";

export interface RawServer {
  /** Without a slash at its end. */
  readonly origin: string;
  /** Heads of requests, as they came. */
  readonly requests: readonly string[];
  /** Connections that were made. */
  readonly connections: () => number;
  /** Connections that are open now. */
  readonly open: () => number;
}

export interface RawServerSettings {
  /** Answers the request of this number, from 1 on. What it throws is a socket's end. */
  readonly answer: (socket: Socket, number: number, request: string) => void | Promise<void>;
  readonly tls?: { readonly key: string; readonly cert: string };
  /** Sent before any request. */
  readonly greeting?: string;
  /** Default: 127.0.0.1. */
  readonly host?: string;
}

/** Runs `use` with a server on the loopback interface, which is gone afterwards. */
export async function withRawServer<T>(
  settings: RawServerSettings,
  use: (server: RawServer) => Promise<T>,
): Promise<T> {
  const { host = "127.0.0.1" } = settings;
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  const onConnection = (socket: Socket): void => {
    let head = "";
    if (settings.greeting !== undefined) socket.write(settings.greeting);
    socket.on("data", (bytes: Buffer) => {
      head += bytes.toString("latin1");
      for (let end = head.indexOf("\r\n\r\n"); end >= 0; end = head.indexOf("\r\n\r\n")) {
        requests.push(head.slice(0, end));
        head = head.slice(end + 4);
        Promise.resolve(settings.answer(socket, requests.length, requests.at(-1) ?? "")).catch(() => socket.destroy());
      }
    });
  };
  const server =
    settings.tls === undefined ? net.createServer(onConnection) : tls.createServer(settings.tls, onConnection);
  server.on("connection", (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
  });
  server.on("secureConnection", (socket: Socket) => socket.on("error", () => undefined));
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  const scheme = settings.tls === undefined ? "http" : "https";
  const origin = `${scheme}://${net.isIPv6(host) ? `[${host}]` : host}:${port}`;
  try {
    return await use({ origin, requests, connections: () => connections, open: () => sockets.size });
  } finally {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
}

/** Writes, and waits until the kernel has it. */
export async function write(socket: Socket, bytes: Uint8Array | string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    socket.write(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes, (error) => {
      if (error == null) resolve();
      else reject(error);
    });
  });
}
