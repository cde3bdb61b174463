/**
 * Which headers a request is sent with, and to whom.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SourceError, UsageError } from "../../../importer/errors.ts";
import { authorizerFor } from "../../../importer/http/authorization.ts";
import type { Authorizer } from "../../../importer/http/authorization.ts";
import { defaultHttpOptions } from "../../../importer/http/http-options.ts";
import type { HttpOptions } from "../../../importer/http/http-options.ts";
import { Place } from "../../../importer/http/place.ts";
import { checkHeaders, requestHeaders } from "../../../importer/http/request-headers.ts";

interface Setting extends Partial<HttpOptions> {
  readonly url?: string;
  readonly isTrusted?: boolean;
  readonly asked?: Readonly<Record<string, string>>;
  readonly authorizer?: Authorizer;
}

async function headers(setting: Setting): Promise<[string, string][]> {
  const { url = "http://images.example/disk", isTrusted = true, asked, authorizer, ...others } = setting;
  const options = { ...defaultHttpOptions, ...others };
  const place = Place.parse(url);
  return await requestHeaders(
    { options, authorizer: authorizer ?? authorizerFor(options.auth, options, () => 0) },
    place,
    { url: place.current, isTrusted },
    { method: "GET", ...(asked === undefined ? {} : { headers: asked }) },
  );
}

const OWN = [
  ["User-Agent", "decant"],
  ["Accept", "*/*"],
  ["Accept-Encoding", "identity"],
];

describe("requestHeaders", () => {
  it("says who asks, and asks for bytes as they are stored", async () => {
    assert.deepEqual(await headers({}), OWN);
    assert.deepEqual(await headers({ isTrusted: false }), OWN);
    assert.deepEqual(await headers({ userAgent: "other", isTrusted: false }), [
      ["User-Agent", "other"],
      ...OWN.slice(1),
    ]);
  });

  it("puts the user's over ours, and the request's own over both, whatever their case", async () => {
    const extra = [
      ["ACCEPT", " image/raw\t"],
      ["range", "bytes=5-6"],
      ["X-Twice", "1"],
      ["x-twice", "2"],
    ] as const;
    assert.deepEqual(await headers({ headers: extra, asked: { Range: "bytes=0-9", "accept-encoding": "gzip" } }), [
      ["User-Agent", "decant"],
      ["ACCEPT", "image/raw"],
      ["X-Twice", "1"],
      ["x-twice", "2"],
      ["Range", "bytes=0-9"],
      ["accept-encoding", "gzip"],
    ]);
  });

  it("gives a server that was not named the request's own only", async () => {
    const setting: Setting = {
      url: "http://me:hunter2@images.example/disk",
      auth: { kind: "bearer", token: "hunter2" },
      headers: [
        ["Authorization", "hunter2"],
        ["Cookie", "hunter2"],
      ],
      asked: { Range: "bytes=0-9" },
    };
    assert.deepEqual(await headers({ ...setting, isTrusted: false }), [...OWN, ["Range", "bytes=0-9"]]);
  });

  it("takes credentials from the URL, then from the options, and the user's own header goes before both", async () => {
    const auth = { kind: "bearer", token: "t" } as const;
    const basic = `Basic ${Buffer.from("me:pass").toString("base64")}`;
    const authorization = async (setting: Setting): Promise<string[]> => {
      const all = await headers(setting);
      return all.filter(([name]) => name.toLowerCase() === "authorization").map(([, value]) => value);
    };
    assert.deepEqual(await authorization({}), []);
    assert.deepEqual(await authorization({ auth }), ["Bearer t"]);
    assert.deepEqual(await authorization({ auth, url: "http://me:pass@images.example/" }), [basic]);
    assert.deepEqual(await authorization({ auth, headers: [["authorization", "Token own"]] }), ["Token own"]);
  });

  it("has the whole request signed, and passes on why it is not", async () => {
    const seen: unknown[] = [];
    const authorizer: Authorizer = {
      headers: async (request) => {
        seen.push(request.method, request.url.href, request.headers);
        return await Promise.resolve([["X-Signature", "s"]]);
      },
    };
    const signed = await headers({ authorizer, headers: [["X-Amz-Note", " n "]], asked: { Range: "bytes=0-9" } });
    const unsigned = [...OWN, ["X-Amz-Note", "n"], ["Range", "bytes=0-9"]];
    assert.deepEqual(seen, ["GET", "http://images.example/disk", unsigned]);
    assert.deepEqual(signed, [["X-Signature", "s"], ...unsigned]);
    const denied = new SourceError("SOURCE_DENIED", "no credentials");
    await assert.rejects(headers({ authorizer: { headers: () => Promise.reject(denied) } }), denied);
    assert.deepEqual(await headers({ authorizer: { headers: () => Promise.reject(denied) }, isTrusted: false }), OWN);
  });
});

describe("checkHeaders", () => {
  it("refuses what HTTP does not allow, and shows none of it", () => {
    const check = (name: string, value: string): void =>
      checkHeaders({ ...defaultHttpOptions, headers: [[name, value]] });
    check("X-Token", "  hünter2  ");
    for (const [name, value] of [
      ["X-Token", "hunter2\r\nX-Evil: 1"],
      ["X-Token", "hunter2\u0000"],
      ["X-Token hunter2", ""],
      ["X-Token\r\nhunter2", "1"],
      ["", "hunter2"],
      ["X-Token", "hunter2 \u{1f4bf}"],
    ] as const) {
      assert.throws(
        () => check(name, value),
        (error) => error instanceof UsageError && !/hunter2|X-Token/.test(error.message),
      );
    }
  });
});
