import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import net from "node:net";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { errorText } from "../../../importer/outcome.ts";
import { Interrupted, SourceError, UsageError } from "../../../importer/errors.ts";
import { HttpClient } from "../../../importer/http/http-client.ts";
import { defaultHttpOptions } from "../../../importer/http/http-options.ts";
import type { HttpOptions } from "../../../importer/http/http-options.ts";
import { Place } from "../../../importer/http/place.ts";
import { readAll, withClient } from "../../support/http-client.ts";
import { withServer } from "../../support/misbehaving-server.ts";
import type { MisbehavingServer, Misdeed, SeenRequest } from "../../support/misbehaving-server.ts";
import { freePort } from "../../support/server-process.ts";

const BYTES = Buffer.from("the image");

/** One GET of `path`; `misdeed` by path. */
async function get(
  path: string,
  misdeed: (path: string, number: number) => Misdeed | undefined,
  options: Partial<HttpOptions> = {},
): Promise<{ readonly body: string; readonly requests: readonly SeenRequest[]; readonly delays: readonly number[] }> {
  const settings = {
    bytes: BYTES,
    misdeed: (number: number, request: { url?: string | undefined }) => misdeed(request.url ?? "", number),
  };
  return await withServer(settings, async (server) => {
    return await withClient(options, async (client, delays) => {
      const answer = await client.get(Place.parse(server.origin + path), { statuses: [200] });
      return { body: (await readAll(answer.body)).toString(), requests: server.requests, delays };
    });
  });
}

function redirect(location: string, status = 302): Misdeed {
  return { status, headers: { location } };
}

function fails(code: string, words: RegExp, remedy?: RegExp) {
  return (error: unknown): boolean => {
    assert.ok(error instanceof SourceError, String(error));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, words);
    if (remedy !== undefined) assert.match(error.remedy ?? "", remedy);
    return true;
  };
}

/** Two origins: the first redirects everything under /to/ to the second. */
async function withTwoOrigins<T>(use: (first: MisbehavingServer, second: MisbehavingServer) => Promise<T>): Promise<T> {
  return await withServer({ bytes: BYTES }, async (second) => {
    const misdeed = (_: number, request: { url?: string | undefined }): Misdeed | undefined => {
      return request.url?.startsWith("/to/") === true ? redirect(`${second.origin}/blob?sig=secret`) : undefined;
    };
    return await withServer({ bytes: BYTES, misdeed }, async (first) => await use(first, second));
  });
}

describe("HttpClient", () => {
  it("sends credentials, extra headers and its name", async () => {
    const { body, requests } = await get("/disk", () => undefined, {
      userAgent: "cdi-golang-importer",
      auth: { kind: "basic", user: "me", password: "pass:wörd" },
      headers: [
        ["X-Token", " abc "],
        ["Accept", "image/raw"],
      ],
    });
    assert.equal(body, "the image");
    const headers = requests[0]?.headers ?? {};
    assert.equal(headers["user-agent"], "cdi-golang-importer");
    assert.equal(headers.authorization, `Basic ${Buffer.from("me:pass:wörd").toString("base64")}`);
    assert.deepEqual(
      [headers["x-token"], headers.accept, headers["accept-encoding"]],
      ["abc", "image/raw", "identity"],
    );
  });

  it("takes user and password from the URL", async () => {
    await withServer({ bytes: BYTES }, async (server) => {
      await withClient({}, async (client) => {
        const url = server.origin.replace("://", "://me%40home:p%2Fw@");
        (await client.get(Place.parse(`${url}/disk`), { statuses: [200] })).body.close();
        assert.equal(
          server.requests[0]?.headers.authorization,
          `Basic ${Buffer.from("me@home:p/w").toString("base64")}`,
        );
      });
    });
  });

  it("leaves stored bytes as they are, whatever their encoding is called", async () => {
    const { body } = await get("/disk", () => ({ headers: { "content-encoding": "gzip" } }));
    assert.equal(body, "the image");
  });

  it("leaves secrets behind on a redirect to another origin (N11)", async () => {
    await withTwoOrigins(async (first, second) => {
      const options = {
        auth: { kind: "basic" as const, user: "me", password: "secret" },
        headers: [["X-Token", "secret"]] as const,
      };
      await withClient(options, async (client) => {
        const place = Place.parse(`${first.origin}/to/disk`);
        (await client.get(place, { statuses: [200] })).body.close();
        assert.equal(first.requests[0]?.headers["x-token"], "secret");
        const { authorization, "x-token": token } = second.requests[0]?.headers ?? {};
        assert.deepEqual([authorization, token], [undefined, undefined]);
        (await client.get(place, { statuses: [200] })).body.close();
        assert.deepEqual([first.requests.length, second.requests.length], [1, 2], "resolved once (N04)");
        assert.equal(second.requests[1]?.headers["x-token"], undefined, "nor later");
        assert.equal(second.requests[1]?.path, "/blob?sig=secret");
      });
    });
  });

  it("does not follow a redirect that is asked for as an answer", async () => {
    await withServer({ bytes: Buffer.alloc(1), misdeed: () => redirect("/elsewhere", 301) }, async (server) => {
      await withClient({}, async (client) => {
        const answer = await client.get(Place.parse(`${server.origin}/a`), { statuses: [200, 301] });
        answer.body.close();
        assert.equal(answer.status, 301);
        assert.equal(server.requests.length, 1);
      });
    });
  });

  it("takes secrets along on the same origin", async () => {
    const { requests } = await get("/a/b", (path) => (path === "/a/b" ? redirect("../c") : undefined), {
      headers: [["X-Token", "secret"]],
    });
    assert.deepEqual(
      requests.map((request) => [request.path, request.headers["x-token"]]),
      [
        ["/a/b", "secret"],
        ["/c", "secret"],
      ],
    );
  });

  it("follows the redirects again when their end has expired", async () => {
    let valid = 1;
    const misdeed = (path: string): Misdeed | undefined => {
      if (path === "/disk") return redirect(`/signed/${valid}`);
      return path === `/signed/${valid}` ? undefined : { status: 403 };
    };
    const settings = {
      bytes: BYTES,
      misdeed: (_: number, request: { url?: string | undefined }) => misdeed(request.url ?? ""),
    };
    await withServer(settings, async (server) => {
      await withClient({}, async (client) => {
        const place = Place.parse(`${server.origin}/disk`);
        (await client.get(place, { statuses: [200] })).body.close();
        valid = 2;
        (await client.get(place, { statuses: [200] })).body.close();
        assert.deepEqual(
          server.requests.map((request) => request.path),
          ["/disk", "/signed/1", "/signed/1", "/disk", "/signed/2"],
        );
      });
    });
  });

  it("stops at circles and after ten redirects", async () => {
    await assert.rejects(
      get("/a", (path) => redirect(path === "/a" ? "/b" : "/a")),
      fails("SOURCE_UNAVAILABLE", /in a circle/),
    );
    let requests = 0;
    const endless = () => redirect(`/${(requests += 1)}`);
    await assert.rejects(get("/a", endless), fails("SOURCE_UNAVAILABLE", /more than 10 times/));
    assert.equal(requests, 11);
    const ten = await get("/0", (path) =>
      path === "/10" ? undefined : redirect(`/${Number(path.slice(1)) + 1}`, 308),
    );
    assert.equal(ten.body, "the image");
  });

  it("tries again what may pass, and not what may not", async () => {
    const { requests, delays } = await get("/disk", (_, number) => (number < 4 ? { status: 503 } : undefined));
    assert.equal(requests.length, 4);
    assert.deepEqual(delays, [188, 375, 750]);
    const told = await get("/disk", (_, number) =>
      number === 1 ? { status: 429, headers: { "retry-after": "7" } } : undefined,
    );
    assert.deepEqual(told.delays, [7000]);
    const cut = await get("/disk", (_, number) => (number === 1 ? { hangsUp: true } : undefined));
    assert.equal(cut.requests.length, 2);
    for (const status of [400, 401, 403, 404, 501]) {
      let count = 0;
      await assert.rejects(
        get("/disk", () => ({ status: ((count += 1), status) })),
        SourceError,
      );
      assert.equal(count, 1, String(status));
    }
    let count = 0;
    await assert.rejects(
      get("/disk", () => ({ status: ((count += 1), 500) })),
      fails("SOURCE_UNAVAILABLE", /answers 500 Internal Server Error$/),
    );
    assert.equal(count, 6);
  });

  it("gives each refusal its code", async () => {
    await assert.rejects(
      get("/x", () => ({ status: 401 })),
      fails("SOURCE_DENIED", /answers 401 Unauthorized$/, /password/),
    );
    await assert.rejects(
      get("/x", () => ({ status: 407 })),
      fails("SOURCE_DENIED", /answers 407/, /proxy/),
    );
    await assert.rejects(
      get("/x", () => ({ status: 404 })),
      fails("SOURCE_NOT_FOUND", /\/x answers 404 Not Found$/),
    );
    await assert.rejects(
      get("/x", () => ({ status: 410 })),
      fails("SOURCE_NOT_FOUND", /answers 410 Gone$/),
    );
    await assert.rejects(
      get("/x", () => ({ status: 206 })),
      fails("SOURCE_UNAVAILABLE", /answers 206/),
    );
    await assert.rejects(
      get("/x", () => ({ status: 418 })),
      fails("SOURCE_UNAVAILABLE", /answers 418/),
    );
  });

  it("points at the registry source (R10)", async () => {
    const bearer = {
      status: 401,
      headers: { "www-authenticate": 'Bearer realm="https://auth/token",service="registry"' },
    };
    await assert.rejects(
      get("/image", () => bearer),
      fails("SOURCE_DENIED", /401/, /^This looks like a container registry: name the image as docker:\/\/127/),
    );
    await assert.rejects(
      get("/v2/a/blobs/b", () => ({ status: 403 })),
      fails("SOURCE_DENIED", /403/, /docker:\/\//),
    );
  });

  it("names who cannot be reached", async () => {
    await withClient({}, async (client, delays) => {
      const refused = client.get(Place.parse(`http://127.0.0.1:${await freePort()}/disk?sig=secret`), {
        statuses: [200],
      });
      await assert.rejects(refused, (error) => {
        assert.match(
          errorText(error),
          /^cannot read http:\/\/127\.0\.0\.1:\d+\/disk: connect ECONNREFUSED 127\.0\.0\.1:\d+$/,
        );
        return true;
      });
      assert.equal(delays.length, 5);
      const unknown = client.get(Place.parse("http://nowhere.invalid/disk"), { statuses: [200] });
      await assert.rejects(unknown, fails("SOURCE_UNAVAILABLE", /^cannot read http:\/\/nowhere\.invalid\/disk$/));
    });
  });

  it("does not wait for ever for an answer, or after it was closed", async () => {
    const silent = net.createServer();
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`;
    try {
      await withClient({ stallMs: 20 }, async (client) => {
        await assert.rejects(
          client.get(Place.parse(url), { statuses: [200] }),
          fails("SOURCE_UNAVAILABLE", /gave no byte for 0\.02 seconds$/),
        );
      });
      await withClient({}, async (client) => {
        const answer = client.get(Place.parse(url), { statuses: [200] });
        setTimeout(() => client.close(), 20);
        await assert.rejects(answer, Interrupted);
        await assert.rejects(client.get(Place.parse(url), { statuses: [200] }), Interrupted);
      });
    } finally {
      silent.close();
    }
  });

  it("sends a POST once, with its body, and follows no redirect with it", async () => {
    const bodies: string[] = [];
    const misdeed = (_: number, request: IncomingMessage): Misdeed | undefined => {
      const pieces: Buffer[] = [];
      request.on("data", (piece: Buffer) => pieces.push(piece));
      request.on("end", () => bodies.push(`${request.method} ${Buffer.concat(pieces).toString()}`));
      if (request.url === "/busy") return { status: 503 };
      return request.url === "/moved" ? redirect("/else") : undefined;
    };
    await withServer({ bytes: BYTES, misdeed }, async (server) => {
      await withClient({}, async (client, delays) => {
        const post = async (path: string, repeats?: true): Promise<string> => {
          const request = {
            method: "POST",
            body: "password=secret",
            statuses: [200],
            ...(repeats && { repeats }),
          } as const;
          return (await readAll((await client.send(Place.parse(server.origin + path), request)).body)).toString();
        };
        assert.equal(await post("/"), "the image");
        await assert.rejects(post("/busy"), fails("SOURCE_UNAVAILABLE", /503/));
        await assert.rejects(post("/moved"), fails("SOURCE_UNAVAILABLE", /302 Found$/));
        assert.deepEqual(bodies, Array(3).fill("POST password=secret"));
        assert.equal(delays.length, 0);
        await assert.rejects(post("/busy", true), fails("SOURCE_UNAVAILABLE", /503/));
        assert.equal(bodies.length, 9);
      });
    });
  });

  it("follows no redirect from a path that is a secret, and names it otherwise", async () => {
    await withServer({ bytes: BYTES, misdeed: () => redirect("/ticket-secret/again") }, async (server) => {
      await withClient({}, async (client) => {
        const place = Place.parse(`${server.origin}/ticket-secret`, "disk 1");
        await assert.rejects(
          client.get(place, { statuses: [200] }),
          fails("SOURCE_UNAVAILABLE", /^disk 1 answers 302 Found$/),
        );
      });
    });
  });

  it("refuses what is no header, and does not show it", () => {
    for (const header of [
      ["X-Token", "a\nb: secret"],
      ["secret secret", "b"],
      ["", "secret"],
    ] as const) {
      assert.throws(
        () => new HttpClient({ ...defaultHttpOptions, headers: [header] }),
        (error) => error instanceof UsageError && !error.message.includes("secret"),
      );
    }
  });
});
