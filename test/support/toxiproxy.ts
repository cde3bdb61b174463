/**
 * toxiproxy in front of a server on the loopback interface: the same bytes, as late as from far away.
 * @see its README, "HTTP API"
 */
import assert from "node:assert/strict";
import { withServerProcess } from "./server-process.ts";

/**
 * Runs `use` with a port that leads to `upstream`, and holds back by `latencyMs` what comes in each direction.
 * @param program toxiproxy-server
 */
export async function withLatency<T>(
  program: string,
  upstream: number,
  latencyMs: number,
  use: (port: number) => Promise<T>,
): Promise<T> {
  const command = (port: number): string[] => ["-host", "127.0.0.1", "-port", String(port)];
  return await withServerProcess(program, command, async ({ port }) => {
    const proxies = `http://127.0.0.1:${port}/proxies`;
    const { listen } = (await post(proxies, {
      name: "far",
      listen: "127.0.0.1:0",
      upstream: `127.0.0.1:${upstream}`,
      enabled: true,
    })) as { readonly listen: string };
    for (const stream of ["upstream", "downstream"]) {
      await post(`${proxies}/far/toxics`, { type: "latency", stream, attributes: { latency: latencyMs } });
    }
    return await use(Number(listen.slice(listen.lastIndexOf(":") + 1)));
  });
}

async function post(url: string, body: object): Promise<unknown> {
  const answer = await fetch(url, { method: "POST", body: JSON.stringify(body) });
  const text = await answer.text();
  assert.ok(answer.ok, text);
  return JSON.parse(text);
}
