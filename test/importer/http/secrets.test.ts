/**
 * No failure shows a password, a token or a query string: not in its message, its context, its causes or its stack.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { inspect } from "node:util";
import type { HttpOptions } from "../../../importer/http/http-options.ts";
import { RangeReader } from "../../../importer/http/range-reader.ts";
import { errorText } from "../../../importer/outcome.ts";
import { openHttp } from "../../../importer/sources/http.ts";
import { baseDisk } from "../../support/base-disk.ts";
import { readAll, withClient } from "../../support/http-client.ts";
import { withProxy } from "../../support/http-proxy.ts";
import { remoteRanges } from "../../support/remote-ranges.ts";
import { withServer } from "../../support/misbehaving-server.ts";
import type { Misdeed } from "../../support/misbehaving-server.ts";

/** In user info, headers, query, fragment, redirects, the proxy's URL, and in what a server answers. */
const SECRET = "hunter2";
const BYTES = baseDisk(200_000);

const OPTIONS: Partial<HttpOptions> = {
  auth: { kind: "basic", user: `${SECRET}-user`, password: SECRET },
  headers: [["X-Token", SECRET]],
  stallMs: 50,
};

function assertSilent(error: unknown): void {
  const shown = [errorText(error), inspect(error, { depth: 10, showHidden: true }), JSON.stringify(error)];
  assert.ok(error instanceof Error);
  for (const text of shown) assert.ok(!text.includes(SECRET), text);
  assert.ok(!shown.join().includes(Buffer.from(`:${SECRET}`).toString("base64").slice(4, -4)), "nor in base 64");
}

const MISDEEDS: Readonly<Record<string, (number: number, origin: string) => Misdeed | undefined>> = {
  "bad status": () => ({ status: 400 }),
  unauthorized: () => ({
    status: 401,
    headers: { "www-authenticate": `Bearer realm="${SECRET}",service="${SECRET}"` },
  }),
  "not found": () => ({ status: 404 }),
  unavailable: () => ({ status: 503, headers: { "retry-after": SECRET } }),
  circle: (_, origin) => ({ status: 302, headers: { location: `${origin}/disk?sig=${SECRET}` } }),
  endless: (number) => ({ status: 302, headers: { location: `/${number}?sig=${SECRET}` } }),
  nowhere: () => ({ status: 302, headers: { location: `ftp://${SECRET}@x/` } }),
  "refused elsewhere": () => ({
    status: 302,
    headers: { location: `http://${SECRET}:${SECRET}@127.0.0.1:9/?${SECRET}` },
  }),
  "unreadable redirect": () => ({ status: 302, headers: { location: `http://${SECRET}@[` } }),
  "hangs up": () => ({ hangsUp: true }),
  stall: () => ({ stallAfter: 10 }),
  cut: (number) => ({ cutAfter: number === 1 ? 100_000 : 0 }),
  changed: (number) => (number === 1 ? { cutAfter: 100_000 } : { headers: { etag: `"${SECRET}"` } }),
  "wrong range": (number) =>
    number === 1 ? { cutAfter: 100_000 } : { headers: { "content-range": `bytes ${SECRET}` } },
  "web page": () => ({ bytes: Buffer.from(`<html>${SECRET}`) }),
};

describe("secrets", () => {
  for (const [what, misdeed] of Object.entries(MISDEEDS)) {
    it(`are not shown: ${what}`, async () => {
      const origin = { name: "" };
      const settings = { bytes: BYTES, etag: '"one"', misdeed: (number: number) => misdeed(number, origin.name) };
      await withServer(settings, async (server) => {
        origin.name = server.origin;
        const url = `${server.origin.replace("//", `//${SECRET}:${SECRET}@`)}/disk?sig=${SECRET}#${SECRET}`;
        await withClient(OPTIONS, async (client) => {
          const failure = await openHttp(url, client, { allowsPages: false }).then(
            async (source) =>
              await readAll(source.stream()).then(
                () => undefined,
                (error: unknown) => error,
              ),
            (error: unknown) => error,
          );
          assert.ok(failure !== undefined, "it fails");
          assertSilent(failure);
          const reader = new RangeReader(client, remoteRanges(url, BYTES.length).spec);
          const ranged = await reader.readRange(0, BYTES.length).then(
            () => undefined,
            (error: unknown) => error,
          );
          if (ranged !== undefined) assertSilent(ranged);
        });
      });
    });
  }

  it("are not shown: proxies", async () => {
    for (const scheme of ["http", "https"]) {
      for (const behaviour of [{ auth: "a:b" }, { connectAnswer: `HTTP/1.1 500 ${SECRET}\r\n\r\n` }]) {
        if (scheme === "http" && behaviour.auth === undefined) continue;
        await withProxy(behaviour, async ({ host }) => {
          for (const proxy of [
            `http://${SECRET}:${SECRET}@${host}`,
            `http://${SECRET}:${SECRET}@127.0.0.1:9`,
            `socks5://${SECRET}@x`,
            `http://${SECRET}@[`,
          ]) {
            await withClient({ ...OPTIONS, proxies: { http: proxy, https: proxy, except: "" } }, async (client) => {
              const url = `${scheme}://${SECRET}@images.invalid/disk?${SECRET}`;
              await assert.rejects(
                openHttp(url, client, { allowsPages: false }),
                (error) => (assertSilent(error), true),
              );
            });
          }
        });
      }
    }
  });
});
