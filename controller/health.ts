/**
 * The controller's own HTTP server: /healthz (the process goes on), /readyz (it knows the cluster), /metrics.
 */
import http from "node:http";
import type { AddressInfo } from "node:net";
import type { Metrics } from "./metrics.ts";

export interface HealthOptions {
  /** 0: a free one. */
  readonly port: number;
  readonly isReady: () => boolean;
  readonly metrics: Pick<Metrics, "page">;
}

export interface HealthServer {
  readonly port: number;
  close(): Promise<void>;
}

const TEXT = "text/plain; charset=utf-8";

export async function serveHealth({ port, isReady, metrics }: HealthOptions): Promise<HealthServer> {
  const server = http.createServer((request, response) => {
    const answer = (status: number, text: string, type = TEXT): void => {
      response.writeHead(status, { "content-type": type }).end(text);
    };
    if (request.method !== "GET") return answer(405, "only GET\n");
    switch (request.url ?? "") {
      case "/healthz":
        return answer(200, "ok\n");
      case "/readyz":
        return isReady() ? answer(200, "ok\n") : answer(503, "not ready\n");
      case "/metrics":
        metrics.page().then(
          ({ text, type }) => answer(200, text, type),
          () => answer(500, "the metrics cannot be collected\n"),
        );
        return undefined;
      default:
        return answer(404, "not found\n");
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
