/**
 * A forwarding proxy that can be made to lie: absolute URLs for http, CONNECT for https. What a good proxy does is asked of
 * squid (squid.ts).
 */
import http from "node:http";
import net from "node:net";
import type { AddressInfo, Socket } from "node:net";

export interface HttpProxy {
  /** host:port */
  readonly host: string;
  /** `CONNECT host:port` or `GET http://…`, and who asked. */
  readonly requests: readonly { readonly line: string; readonly headers: http.IncomingHttpHeaders }[];
}

export interface ProxyBehaviour {
  /** `user:password` */
  readonly auth?: string;
  /** The port on this machine that CONNECT leads to, wherever it asks for. */
  readonly leadsTo?: number;
  /** Answers CONNECT with this instead. */
  readonly connectAnswer?: string;
}

export async function withProxy<T>(behaviour: ProxyBehaviour, use: (proxy: HttpProxy) => Promise<T>): Promise<T> {
  const requests: { line: string; headers: http.IncomingHttpHeaders }[] = [];
  const sockets = new Set<Socket>();
  const wanted = behaviour.auth === undefined ? undefined : `Basic ${Buffer.from(behaviour.auth).toString("base64")}`;
  const mayPass = (request: http.IncomingMessage): boolean => {
    requests.push({ line: `${request.method} ${request.url}`, headers: request.headers });
    return wanted === undefined || request.headers["proxy-authorization"] === wanted;
  };
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
  };
  const forward = (request: http.IncomingMessage, response: http.ServerResponse): void => {
    if (!mayPass(request)) {
      response.writeHead(407, { "proxy-authenticate": "Basic" }).end();
      return;
    }
    const { "proxy-authorization": _, ...headers } = request.headers;
    http.get(request.url ?? "", { headers, agent: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
  };
  const server = http.createServer(forward);
  server.on("connect", (request: http.IncomingMessage, client: Socket) => {
    if (!mayPass(request)) {
      client.end("HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n");
      return;
    }
    if (behaviour.connectAnswer !== undefined) {
      client.end(behaviour.connectAnswer);
      return;
    }
    const [host, port] = (request.url ?? "").split(":");
    const { leadsTo } = behaviour;
    const upstream = net.connect(leadsTo ?? Number(port), leadsTo === undefined ? host : "127.0.0.1", () => {
      client.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      upstream.pipe(client);
      client.pipe(upstream);
    });
    keep(upstream);
  });
  server.on("connection", keep);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    return await use({ host: `127.0.0.1:${(server.address() as AddressInfo).port}`, requests });
  } finally {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
}
