/**
 * Ranges over kept sockets: which connections are used, which answers count, and who is told what.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AwsAuthorizer } from "../../../importer/cloud/aws-authorizer.ts";
import { UsageError } from "../../../importer/errors.ts";
import { DirectRanges } from "../../../importer/http/direct-ranges.ts";
import { defaultHttpOptions } from "../../../importer/http/http-options.ts";
import type { HttpOptions } from "../../../importer/http/http-options.ts";
import { Place } from "../../../importer/http/place.ts";
import type { RangeSpec } from "../../../importer/http/range-reader.ts";
import { newRateLimit } from "../../../importer/http/rate-limit.ts";
import { baseDisk } from "../../support/base-disk.ts";
import { remoteRanges } from "../../support/remote-ranges.ts";
import { withServer } from "../../support/misbehaving-server.ts";
import type { MisbehavingServer, Misdeed, ServerSettings } from "../../support/misbehaving-server.ts";
import { until } from "../../support/start-decant.ts";

const BYTES = baseDisk(1_000_003);

type Settings = Partial<ServerSettings> & { readonly options?: Partial<HttpOptions>; readonly path?: string };

/** Runs `use` with ranges of what a server says it has. */
async function withRanges<T>(
  settings: Settings,
  use: (ranges: DirectRanges, server: MisbehavingServer) => Promise<T>,
): Promise<T> {
  const { options, path = "/disk", ...others } = settings;
  return await withServer({ bytes: BYTES, etag: '"one"', ...others }, async (server) => {
    const ranges = open(Place.parse(server.origin + path), options);
    assert.ok(ranges !== undefined);
    try {
      return await use(ranges, server);
    } finally {
      ranges.close();
    }
  });
}

function open(place: Place, options: Partial<HttpOptions> = {}): DirectRanges | undefined {
  const { representation } = remoteRanges(place.first.href, BYTES.length).spec;
  const spec: RangeSpec = { place: place.spec, representation };
  return DirectRanges.open(structuredClone({ ...defaultHttpOptions, ...options }), structuredClone(spec));
}

async function read(ranges: DirectRanges, offset = 0, length = 1000): Promise<number> {
  const into = new Uint8Array(length);
  const count = await ranges.read(into, offset, () => undefined);
  assert.ok(BYTES.subarray(offset, offset + count).equals(into.subarray(0, count)));
  return count;
}

describe("DirectRanges", () => {
  it("reads one range after the other over one connection", async () => {
    await withRanges({ path: "/a%20b/disk?x=1&y=%2f#part" }, async (ranges, server) => {
      for (const [offset, length] of [
        [0, 1],
        [1, 700_000],
        [500_000, 500_003],
        [1_000_002, 1],
      ] as const) {
        assert.equal(await read(ranges, offset, length), length);
      }
      assert.equal(server.connections(), 1);
      assert.deepEqual(
        server.requests.map(({ headers }) => headers.range),
        ["bytes=0-0", "bytes=1-700000", "bytes=500000-1000002", "bytes=1000002-1000002"],
      );
      const { path, headers } = server.requests[0] ?? {};
      assert.equal(path, "/a%20b/disk?x=1&y=%2f");
      assert.deepEqual(headers, {
        accept: "*/*",
        "accept-encoding": "identity",
        connection: "keep-alive",
        host: new URL(server.origin).host,
        "if-range": '"one"',
        range: "bytes=0-0",
        "user-agent": "decant",
      });
    });
  });

  it("has as many connections as ranges at once, and keeps them", async () => {
    await withRanges({}, async (ranges, server) => {
      for (let round = 0; round < 3; round++) {
        const counts = await Promise.all(Array.from({ length: 4 }, (_, i) => read(ranges, i * 200_000, 200_000)));
        assert.deepEqual(counts, [200_000, 200_000, 200_000, 200_000]);
      }
      assert.equal(server.connections(), 4);
    });
  });

  it("asks once more where the server had ended the connection that it kept", async () => {
    const misdeed = (number: number): Misdeed | undefined => (number === 2 ? { hangsUp: true } : undefined);
    await withRanges({ misdeed }, async (ranges, server) => {
      assert.equal(await read(ranges), 1000);
      assert.equal(await read(ranges, 1000), 1000);
      assert.equal(server.requests.length, 3);
      assert.equal(server.connections(), 2);
    });
  });

  it("does not ask over a connection that is known to have ended", async () => {
    const misdeed = (): Misdeed => ({ headers: { connection: "close" } });
    await withRanges({ misdeed }, async (ranges, server) => {
      for (let i = 0; i < 5; i++) assert.equal(await read(ranges, i), 1000);
      assert.deepEqual([server.requests.length, server.connections()], [5, 5]);
    });
  });

  it("says how far a range came that broke off, and leaves the rest", async () => {
    await withRanges({ misdeed: () => ({ cutAfter: 70_000 }) }, async (ranges, server) => {
      for (let i = 0; i < 5; i++) assert.equal(await read(ranges, 10, 100_000), 70_000);
      assert.equal(server.requests.length, 5);
    });
  });

  for (const [what, misdeed] of Object.entries<Misdeed>({
    "all of it": { ignoresRange: true },
    "416": { status: 416, headers: { "content-range": `bytes */${BYTES.length}` } },
    "502": { status: 502 },
    "a redirect": { status: 302, headers: { location: "/elsewhere" } },
    "another range": { headers: { "content-range": `bytes 1-1000/${BYTES.length}` } },
    "a shorter range": {
      headers: { "content-range": `bytes 0-9/${BYTES.length}`, "content-length": "10" },
    },
    "a range of something longer": { headers: { "content-range": `bytes 0-999/${BYTES.length + 1}` } },
    "no Content-Range": { headers: { "content-range": undefined } },
    "a new file": { headers: { etag: '"two"' }, ignoresIfRange: true },
    "what it compressed": { headers: { "content-encoding": "gzip" } },
    "what it compressed twice": { headers: { "content-encoding": "identity, gzip" } },
    chunks: { framing: "chunked" },
    "no length": { framing: "until-closed" },
  })) {
    it(`leaves a server that answers with ${what}, after three times for good`, async () => {
      await withRanges({ misdeed: () => misdeed }, async (ranges, server) => {
        for (let i = 0; i < 5; i++) assert.equal(await read(ranges), 0);
        assert.equal(server.requests.length, 3);
        assert.equal(server.connections(), 3);
      });
    });
  }

  for (const [what, misdeed] of Object.entries<Misdeed>({ "a cut": { cutAfter: 0 }, nothing: { hangsUp: true } })) {
    it(`goes on with a server that answers with ${what}: the network is allowed to fail`, async () => {
      await withRanges({ misdeed: (number) => (number <= 5 ? misdeed : undefined) }, async (ranges) => {
        for (let i = 0; i < 5; i++) assert.equal(await read(ranges), 0);
        assert.ok((await read(ranges)) > 0);
      });
    });
  }

  for (const misdeed of [{ status: 429 }, { status: 503 }, { status: 503, framing: "chunked" }] as const) {
    it(`says that a server has too much to do: ${JSON.stringify(misdeed)}`, async () => {
      await withRanges({ misdeed: (number) => (number <= 5 ? misdeed : undefined) }, async (ranges, server) => {
        let refused = 0;
        const into = new Uint8Array(1000);
        for (let i = 0; i < 5; i++) assert.equal(await ranges.read(into, 0, () => (refused += 1)), 0);
        assert.equal(refused, 5);
        assert.equal(server.requests.length, 5, "it is not asked again at once");
        assert.equal(await ranges.read(into, 0, () => (refused += 1)), 1000);
        assert.equal(refused, 5);
      });
    });
  }

  it("forgives what did not fit when something fits again", async () => {
    const misdeed = (number: number): Misdeed | undefined => (number % 3 === 0 ? undefined : { status: 502 });
    await withRanges({ misdeed }, async (ranges, server) => {
      const counts: number[] = [];
      for (let i = 0; i < 9; i++) counts.push(await read(ranges));
      // What fitted is kept, and asked once more over a new connection when it does not fit.
      assert.deepEqual(counts.filter((count) => count > 0).length, server.requests.length / 3);
      assert.ok(server.requests.length >= 9);
    });
  });

  it("is closed while it waits, and asks nobody afterwards", async () => {
    await withRanges({ misdeed: () => ({ stallAfter: 500 }) }, async (ranges, server) => {
      const answers = [read(ranges), read(ranges, 5)];
      await until(() => server.served() === 1000);
      await new Promise((resolve) => setTimeout(resolve, 20));
      ranges.close();
      assert.deepEqual(await Promise.all(answers), [500, 500]);
      assert.equal(await read(ranges), 0);
      assert.equal(server.requests.length, 2);
      ranges.close();
    });
    await withRanges({}, async (ranges, server) => {
      const answer = read(ranges);
      ranges.close();
      assert.equal(await answer, 0);
      assert.equal(server.requests.length, 0);
    });
  });

  it("tells the origin that was named who asks", async () => {
    const options: Partial<HttpOptions> = {
      auth: { kind: "basic", user: "me", password: "pass:wörd" },
      headers: [
        ["X-Token", " abc "],
        ["X-Latin", "ü"],
        ["Host", "images.example"],
        ["Range", "bytes=5-6"],
      ],
      userAgent: "cdi-golang-importer",
    };
    await withRanges({ options }, async (ranges, server) => {
      assert.equal(await read(ranges), 1000);
      const headers = server.requests[0]?.headers ?? {};
      assert.equal(headers.authorization, `Basic ${Buffer.from("me:pass:wörd").toString("base64")}`);
      assert.deepEqual(
        [headers["x-token"], headers["x-latin"], headers.host, headers["user-agent"], headers.range],
        ["abc", "ü", "images.example", "cdi-golang-importer", "bytes=0-999"],
      );
    });
  });

  it("tells another origin nothing", async () => {
    const options: Partial<HttpOptions> = {
      auth: { kind: "bearer", token: "hunter2" },
      headers: [
        ["X-Token", "hunter2"],
        ["Host", "hunter2.example"],
        ["Cookie", "hunter2"],
      ],
    };
    await withServer({ bytes: BYTES, etag: '"one"' }, async (server) => {
      const place = Place.parse("http://me:hunter2@named.example/disk");
      place.pin(new URL(`${server.origin}/blob?sig=its-own`), false);
      const ranges = open(place, options);
      assert.ok(ranges !== undefined);
      assert.equal(await read(ranges), 1000);
      ranges.close();
      assert.equal(server.requests[0]?.path, "/blob?sig=its-own");
      assert.doesNotMatch(JSON.stringify(server.requests), /hunter2|authorization/i);
    });
  });

  it("takes user and password of the URL before others", async () => {
    await withServer({ bytes: BYTES, etag: '"one"' }, async (server) => {
      const place = Place.parse(server.origin.replace("//", "//me:mine@"));
      const ranges = open(place, { auth: { kind: "bearer", token: "other" } });
      assert.ok(ranges !== undefined);
      assert.equal(await read(ranges), 1000);
      ranges.close();
      const { headers } = server.requests[0] ?? {};
      assert.equal(headers?.authorization, `Basic ${Buffer.from("me:mine").toString("base64")}`);
    });
  });

  it("signs each request as it is sent", async () => {
    const credentials = { accessKeyId: "KEY", secretAccessKey: "secret", sessionToken: "lent", expiresAtMs: undefined };
    const signing = { credentials, region: "eu-west-1", profile: undefined, clockOffsetMs: 0 };
    const options: Partial<HttpOptions> = { auth: { kind: "aws", ...signing } };
    await withRanges({ options, path: "/bucket/a%20disk" }, async (ranges, server) => {
      assert.equal(await read(ranges, 0, 10), 10);
      assert.equal(await read(ranges, 10, 20), 20);
      assert.equal(server.connections(), 1);
      for (const { headers, path } of server.requests) {
        const [year, month, day, hour, minute, second] =
          (headers["x-amz-date"] as string).match(/\d\d/g)?.slice(1) ?? [];
        const time = Date.parse(`20${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
        const authorizer = new AwsAuthorizer(signing, defaultHttpOptions, () => time);
        const url = new URL(path, server.origin);
        const again = await authorizer.headers({ method: "GET", url, headers: [["Range", headers.range ?? ""]] });
        const named = new Map(again.map(([name, value]) => [name.toLowerCase(), value]));
        assert.equal(headers.authorization, named.get("authorization"));
        assert.equal(headers["x-amz-security-token"], "lent");
        assert.match(headers.authorization ?? "", /SignedHeaders=host;range;/);
      }
    });
  });

  it("sends no header that would be two", async () => {
    for (const options of [
      { auth: { kind: "bearer", token: "a\r\nX-Evil: 1" } },
      { auth: { kind: "bearer", token: "a\nb" } },
      { headers: [["X-Note", "a\r\n\r\nGET /evil HTTP/1.1"]] },
      { headers: [["X-Note: a\r\nX-Evil", "1"]] },
      { headers: [["X Note", "1"]] },
      { headers: [["X-Note", "\u{1f4bf}"]] },
      { userAgent: "decant\r\nX-Evil: 1" },
    ] as const satisfies Partial<HttpOptions>[]) {
      await withRanges({ options }, async (ranges, server) => {
        for (let i = 0; i < 5; i++) assert.equal(await read(ranges), 0);
        assert.equal(server.connections(), 0);
      });
    }
  });

  it("is not for a way with a proxy or a limited rate", () => {
    const place = Place.parse("http://images.example/disk");
    const proxies = { http: "http://proxy.example:3128", https: undefined, except: "" };
    assert.equal(open(place, { proxies }), undefined);
    assert.equal(open(place, { rateLimit: newRateLimit(1_000_000) }), undefined);
    assert.notEqual(open(place, { proxies: { ...proxies, except: "images.example" } }), undefined);
    assert.notEqual(open(Place.parse("http://localhost/disk"), { proxies }), undefined);
    assert.throws(() => open(place, { proxies: { ...proxies, http: "socks5://proxy.example" } }), UsageError);
    // What decides is where the redirects led.
    place.pin(new URL("http://127.0.0.1/disk"), false);
    assert.notEqual(open(place, { proxies }), undefined);
  });
});
