/**
 * The worker's metrics page: https on port 8443, a certificate of its own making, every path the same page, no password.
 * The controller reads the import's progress from it every two seconds, so a scrape is answered from memory, whatever the
 * import waits for.
 *
 * The key is made at start and lives in memory alone; who scrapes does not verify it. Libraries are loaded here, when a
 * server is asked for. A server that cannot be had is the caller's to log: no import fails for it.
 */
import https from "node:https";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { Worker } from "node:worker_threads";
import type { Registry } from "prom-client";
import { PROGRESS_METRIC, ProgressScale } from "../progress-metric.ts";
import type { Certificate } from "./certificate-thread.ts";

export interface MetricsServerOptions {
  /** 0: any that is free. */
  readonly port: number;
  /** The progress metric's label; undefined: there is no such metric. */
  readonly ownerUid: string | undefined;
  /** Where the import is; asked at each scrape. Bytes; the total is undefined where nobody knows it. */
  readonly progress: () => { readonly done: number; readonly total: number | undefined };
}

export interface MetricsServer {
  readonly port: number;
  /** Stops at once, whoever is still connected. */
  close(): Promise<void>;
}

export const METRICS_PORT = 8443;

/** What the certificate is made out to, as ever. */
const HOST_NAME = "cloner_target";

/** For a request's head, and for the handshake before it. */
const HEADER_TIMEOUT_MS = 10_000;

/** How often the time-outs are looked at. */
const CHECK_INTERVAL_MS = 1000;

/**
 * One controller asks, perhaps a Prometheus or two. Node.js counts a connection that was closed before its handshake until
 * HEADER_TIMEOUT_MS have passed, so there is room for a few that only knock.
 */
export const MAX_CONNECTIONS = 64;

/** @throws Error where the port cannot be had, or a library is missing */
export async function startMetricsServer(options: MetricsServerOptions): Promise<MetricsServer> {
  const [registry, { key, cert }] = await Promise.all([makeRegistry(options), makeCertificate()]);
  const server = https.createServer(
    {
      key,
      cert,
      handshakeTimeout: HEADER_TIMEOUT_MS,
      headersTimeout: HEADER_TIMEOUT_MS,
      requestTimeout: HEADER_TIMEOUT_MS,
      connectionsCheckingInterval: CHECK_INTERVAL_MS,
    },
    (request, response) => void answer(registry, request, response),
  );
  server.maxConnections = MAX_CONNECTIONS;
  const sockets = openSockets(server);
  // The page is no reason to stay alive.
  server.unref();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, () => {
      server.off("error", reject);
      resolve();
    });
  });
  // What fails from here on is a connection, and of no concern to the import.
  server.on("error", () => undefined);
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        registry.clear();
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** Also those that have not come to a handshake yet, which closeAllConnections passes over. */
function openSockets(server: https.Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  return sockets;
}

async function makeRegistry({ ownerUid, progress }: MetricsServerOptions): Promise<Registry> {
  const { Counter, Registry, collectDefaultMetrics } = await import("prom-client");
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  if (ownerUid === undefined) return registry;
  const scale = new ProgressScale();
  const counter = new Counter({
    name: PROGRESS_METRIC.name,
    help: PROGRESS_METRIC.help,
    labelNames: [PROGRESS_METRIC.label],
    registers: [],
    collect() {
      const { done, total } = progress();
      // A counter cannot be set. Added to, a sum of hundredths would grow digits.
      this.reset();
      this.inc({ [PROGRESS_METRIC.label]: ownerUid }, scale.update(done, total));
    },
  });
  registry.registerMetric(counter);
  return registry;
}

async function makeCertificate(): Promise<Certificate> {
  const file = import.meta.url.endsWith(".ts") ? "./certificate-thread.ts" : "./certificate-thread.js";
  const thread = new Worker(new URL(file, import.meta.url), { workerData: { hostName: HOST_NAME } });
  return await new Promise<Certificate>((resolve, reject) => {
    thread.once("message", resolve);
    thread.once("error", reject);
    thread.once("exit", (code) => reject(new Error(`the thread for the certificate ended with ${code}`)));
  });
}

async function answer(registry: Registry, request: IncomingMessage, response: ServerResponse): Promise<void> {
  // Whoever sends a body sends it for nothing.
  request.resume();
  if (request.method !== "GET" && request.method !== "HEAD") {
    response.writeHead(405, { allow: "GET, HEAD", connection: "close" }).end();
    return;
  }
  try {
    const page = Buffer.from(await registry.metrics());
    response.writeHead(200, { "content-type": registry.contentType, "content-length": page.length }).end(page);
  } catch {
    response.writeHead(500, { connection: "close" }).end();
  }
}
