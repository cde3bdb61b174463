import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { SourceError, UsageError } from "../../../importer/errors.ts";
import type { HttpOptions } from "../../../importer/http/http-options.ts";
import { Place } from "../../../importer/http/place.ts";
import { noProxies } from "../../../importer/http/proxies.ts";
import { errorText } from "../../../importer/outcome.ts";
import { makeAuthority } from "../../support/certificates.ts";
import type { Authority } from "../../support/certificates.ts";
import { readAll, withClient } from "../../support/http-client.ts";
import { withProxy } from "../../support/http-proxy.ts";
import type { HttpProxy, ProxyBehaviour } from "../../support/http-proxy.ts";
import { withServer } from "../../support/misbehaving-server.ts";
import type { MisbehavingServer } from "../../support/misbehaving-server.ts";
import { withTemporaryFolder } from "../../support/temporary-folder.ts";
import { requireTools } from "../../support/tools.ts";

const skip = requireTools("openssl");
const BYTES = Buffer.from("the image");

interface Setup {
  /** Names in the server's certificate; undefined: plain http. */
  readonly names?: readonly string[];
  /** Whether the client is given the authority. */
  readonly trusted?: boolean;
  readonly proxy?: ProxyBehaviour;
  readonly options?: (proxy: HttpProxy) => Partial<HttpOptions>;
  readonly host?: string;
}

/** What one GET gives, and what server and proxy saw. */
async function get(setup: Setup): Promise<{ body: string; proxy: HttpProxy; server: MisbehavingServer }> {
  return await withTemporaryFolder(async (folder) => {
    const authority: Authority | undefined = setup.names === undefined ? undefined : makeAuthority(folder);
    const trusted = path.join(folder, "trusted");
    fs.mkdirSync(trusted);
    if (setup.trusted === true) fs.writeFileSync(path.join(trusted, "ca.pem"), authority?.certificate ?? "");
    const tls = authority === undefined ? {} : { tls: authority.issue(...(setup.names ?? [])) };
    return await withServer({ bytes: BYTES, ...tls }, async (server) => {
      return await withProxy(setup.proxy ?? {}, async (proxy) => {
        const options = { trust: { folders: [trusted], insecure: false }, ...setup.options?.(proxy) };
        return await withClient(options, async (client) => {
          const url = server.origin.replace("127.0.0.1", setup.host ?? "127.0.0.1");
          const answer = await client.get(Place.parse(`${url}/disk?sig=secret`), { statuses: [200] });
          return { body: (await readAll(answer.body)).toString(), proxy, server };
        });
      });
    });
  });
}

/** This machine by an address that is not exempted from proxies. */
function through(url: (proxy: HttpProxy) => string, except = "") {
  return (proxy: HttpProxy): Partial<HttpOptions> => ({ proxies: { http: url(proxy), https: url(proxy), except } });
}

function fails(code: string, words: RegExp) {
  return (error: unknown): boolean => {
    assert.ok(error instanceof SourceError, String(error));
    assert.equal(error.code, code, errorText(error));
    assert.match(errorText(error), words);
    return true;
  };
}

describe("TLS", { skip }, () => {
  it("believes an authority from a folder (N13, N14)", async () => {
    assert.equal((await get({ names: ["IP:127.0.0.1"], trusted: true })).body, "the image");
  });

  it("refuses an unknown authority, and says what to do", async () => {
    const unknown = get({ names: ["IP:127.0.0.1"] });
    await assert.rejects(
      unknown,
      fails(
        "SOURCE_TLS",
        /^the TLS connection to 127\.0\.0\.1:\d+ was refused: unable to .* certificate.*Give the certificate/,
      ),
    );
  });

  it("names the names of a certificate for another server", async () => {
    const wrong = get({ names: ["DNS:images.example", "IP:192.0.2.1"], trusted: true });
    await assert.rejects(
      wrong,
      fails("SOURCE_TLS", /the certificate is for DNS:images\.example, IP Address:192\.0\.2\.1, not for 127\.0\.0\.1/),
    );
  });

  it("verifies nothing if told so", async () => {
    const options = () => ({ trust: { folders: [], insecure: true } });
    assert.equal((await get({ names: ["DNS:images.example"], options })).body, "the image");
  });

  it("does not follow a redirect out of it, unless a digest is checked", async () => {
    await withTemporaryFolder(async (folder) => {
      const tls = makeAuthority(folder).issue("IP:127.0.0.1");
      await withServer({ bytes: BYTES }, async (plain) => {
        const misdeed = () => ({ status: 302, headers: { location: `${plain.origin}/disk?sig=secret` } });
        await withServer({ bytes: BYTES, tls, misdeed }, async (server) => {
          const trust = { folders: [], insecure: true };
          const place = () => Place.parse(`${server.origin}/disk`);
          await withClient({ trust }, async (client) => {
            const refused = client.get(place(), { statuses: [200] });
            await assert.rejects(
              refused,
              fails("SOURCE_TLS", /from https to http:\/\/127[^?]*\/disk, which is not encrypted/),
            );
          });
          await withClient({ trust, allowsDowngrade: true }, async (client) => {
            assert.equal((await client.get(place(), { statuses: [200] })).status, 200);
          });
        });
      });
    });
  });
});

// Loopback addresses never go through a proxy; this name of theirs is unknown to the rule, but not to the proxy.
const HOST = "0.0.0.0";

describe("a proxy", { skip }, () => {
  it("tunnels https, verified to its end", async () => {
    const setup = { host: HOST, options: through(({ host }) => host) };
    await assert.rejects(get({ ...setup, names: ["IP:0.0.0.0"] }), fails("SOURCE_TLS", /was refused/));
    await withTemporaryFolder(async (folder) => {
      const authority = makeAuthority(folder);
      fs.mkdirSync(path.join(folder, "trusted"));
      fs.writeFileSync(path.join(folder, "trusted", "any-name"), authority.certificate);
      const trust = { folders: [path.join(folder, "trusted")], insecure: false };
      await withServer({ bytes: BYTES, tls: authority.issue("IP:0.0.0.0") }, async (server) => {
        await withProxy({ auth: "user:p@ss" }, async (proxy) => {
          const proxies = { ...noProxies, https: `http://user:p%40ss@${proxy.host}` };
          await withClient(
            { trust, proxies, tunnelUserAgent: "tunnel", auth: { kind: "basic", user: "a", password: "b" } },
            async (client) => {
              const place = Place.parse(`${server.origin.replace("127.0.0.1", HOST)}/disk`);
              for (let i = 0; i < 3; i++) {
                const answer = await client.get(place, { statuses: [200] });
                assert.equal((await readAll(answer.body)).toString(), "the image");
                answer.body.close();
              }
              assert.equal(proxy.requests.length, 1, "the tunnel is kept");
              const { line, headers } = proxy.requests[0] ?? { line: "", headers: {} };
              assert.match(line, /^CONNECT 0\.0\.0\.0:\d+$/);
              assert.equal(headers["user-agent"], "tunnel");
              assert.equal(server.requests[0]?.headers["user-agent"], "decant");
              assert.equal(headers.authorization, undefined, "the server's password is none of its business");
              assert.equal(server.requests[0]?.headers["proxy-authorization"], undefined);
            },
          );
        });
      });
    });
  });

  it("cannot answer in the place of the server", async () => {
    const connectAnswer = "HTTP/1.1 206 Partial Content\r\nContent-Length: 4\r\n\r\nevil";
    const forged = get({
      host: HOST,
      names: ["IP:0.0.0.0"],
      trusted: true,
      proxy: { connectAnswer },
      options: through(({ host }) => host),
    });
    await assert.rejects(
      forged,
      fails("SOURCE_UNAVAILABLE", /the proxy does not connect to 0\.0\.0\.0:\d+: it answers 206/),
    );
  });

  it("is left out for this machine and for what no_proxy names", async () => {
    for (const [host, except] of [
      ["127.0.0.1", ""],
      ["localhost", ""],
      [HOST, "*"],
      [HOST, "example.com,0.0.0.0"],
    ] as const) {
      const { body, proxy } = await get({ host, options: through(({ host: name }) => name, except) });
      assert.deepEqual([body, proxy.requests.length], ["the image", 0]);
    }
  });

  it("of an unknown kind is refused by name", async () => {
    const socks = get({ host: HOST, options: through(({ host }) => `socks5://me:secret@${host}`) });
    await assert.rejects(
      socks,
      (error) => error instanceof UsageError && error.message.startsWith("proxies of the kind socks5:// are"),
    );
  });
});
