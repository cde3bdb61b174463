import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SourceError } from "../../../importer/errors.ts";
import { defaultHttpOptions } from "../../../importer/http/http-options.ts";
import { TokenAuth } from "../../../importer/oci/token-auth.ts";
import type { RegistryAccess } from "../../../importer/oci/token-auth.ts";
import { basicHeader } from "../../../importer/http/basic-auth.ts";
import { withServer } from "../../support/misbehaving-server.ts";
import type { MisbehavingServer, Misdeed } from "../../support/misbehaving-server.ts";

const ACCESS: RegistryAccess = { repository: "a/b", login: undefined, allowsPlain: true, header: undefined };
const LOGIN = { kind: "password", user: "me", password: "hunter2" } as const;

function answer(body: unknown): Misdeed {
  return { bytes: Buffer.from(typeof body === "string" ? body : JSON.stringify(body)) };
}

/** @param answers one after the other, the last one for ever */
async function withTokens<T>(answers: readonly Misdeed[], use: (server: MisbehavingServer) => Promise<T>): Promise<T> {
  const misdeed = (number: number): Misdeed | undefined => answers[Math.min(number, answers.length) - 1];
  return await withServer({ bytes: Buffer.alloc(0), misdeed }, use);
}

function bearer(realm: string): string {
  return `Bearer realm="${realm}",service="the service",scope="repository:other:push"`;
}

async function sent(auth: TokenAuth): Promise<string | undefined> {
  return (await auth.headers())[0]?.[1];
}

async function denied(work: Promise<unknown>, code: string, message: RegExp): Promise<void> {
  await assert.rejects(work, (error) => {
    assert.ok(error instanceof SourceError, String(error));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
    assert.ok(!`${error.message}${error.remedy ?? ""}`.includes("hunter2"));
    return true;
  });
}

describe("TokenAuth", () => {
  it("says nothing until it is asked, then gets a token for its own repository", async () => {
    await withTokens([answer({ token: "t1" }), answer({ access_token: "t2" })], async (server) => {
      const auth = new TokenAuth(ACCESS, defaultHttpOptions);
      assert.equal(await sent(auth), undefined);
      assert.equal(await auth.refused(bearer(`${server.origin}/token?x=1`)), true);
      assert.equal(await sent(auth), "Bearer t1");
      assert.equal(await auth.refused(bearer(`${server.origin}/token`)), true);
      assert.equal(await sent(auth), "Bearer t2");
      assert.equal(server.requests[0]?.path, "/token?x=1&service=the+service&scope=repository%3Aa%2Fb%3Apull");
      assert.equal(server.requests[0]?.headers.authorization, undefined);
      const again = new TokenAuth(auth.access, defaultHttpOptions);
      assert.equal(await sent(again), "Bearer t2");
    });
  });

  it("sends user and password for the token, and not to where the token's server redirects", async () => {
    await withTokens([answer({ token: "t" })], async (elsewhere) => {
      const moved = { status: 302, headers: { location: `${elsewhere.origin}/token` } };
      await withTokens([answer({ token: "t" }), moved], async (server) => {
        const auth = new TokenAuth({ ...ACCESS, login: LOGIN }, defaultHttpOptions);
        assert.equal(await auth.refused(bearer(server.origin)), true);
        await auth.refused(bearer(server.origin));
        const seen = server.requests.map(({ headers }) => headers.authorization);
        assert.deepEqual(seen, [basicHeader(LOGIN), basicHeader(LOGIN)]);
        assert.deepEqual(
          elsewhere.requests.map(({ headers }) => headers.authorization),
          [undefined],
        );
      });
    });
  });

  it("exchanges an identity token, in a body", async () => {
    await withTokens([answer({ access_token: "t" })], async (server) => {
      const login = { kind: "identity-token", token: "hunter2" } as const;
      const auth = new TokenAuth({ ...ACCESS, login }, defaultHttpOptions);
      assert.equal(await auth.refused(bearer(`${server.origin}/oauth2/token`)), true);
      assert.equal(await sent(auth), "Bearer t");
      assert.deepEqual([server.requests[0]?.method, server.requests[0]?.path], ["POST", "/oauth2/token"]);
    });
  });

  it("asks once for requests that are refused together", async () => {
    await withTokens([answer({ token: "t" })], async (server) => {
      const auth = new TokenAuth(ACCESS, defaultHttpOptions);
      await Promise.all(Array.from({ length: 5 }, async () => await auth.refused(bearer(server.origin))));
      assert.equal(server.requests.length, 1);
    });
  });

  it("answers a challenge for user and password once, and only with both", async () => {
    const auth = new TokenAuth({ ...ACCESS, login: LOGIN }, defaultHttpOptions);
    assert.equal(await auth.refused(`Basic realm="x"`), true);
    assert.equal(await sent(auth), basicHeader(LOGIN));
    assert.equal(await auth.refused(`Basic realm="x"`), false);
    assert.equal(await new TokenAuth(ACCESS, defaultHttpOptions).refused(`Basic realm="x"`), false);
    for (const challenge of [undefined, "", "Negotiate", "Digest x=y"]) {
      assert.equal(await new TokenAuth({ ...ACCESS, login: LOGIN }, defaultHttpOptions).refused(challenge), false);
    }
  });

  it("goes to an unencrypted server only where the registry is one too, and only to a URL", async () => {
    await withTokens([answer({ token: "t" })], async (server) => {
      const strict = new TokenAuth({ ...ACCESS, login: LOGIN, allowsPlain: false }, defaultHttpOptions);
      await denied(strict.refused(bearer(server.origin)), "SOURCE_TLS", /is not encrypted/);
      assert.equal(server.requests.length, 0);
      for (const realm of ["", "/token", "ftp://x/", "file:///etc/passwd", "http://me:hunter2@127.0.0.1/"]) {
        const auth = new TokenAuth(ACCESS, defaultHttpOptions);
        await denied(auth.refused(bearer(realm)), "SOURCE_DENIED", /does not say where to get it/);
      }
      await denied(new TokenAuth(ACCESS, defaultHttpOptions).refused("Bearer"), "SOURCE_DENIED", /where to get it/);
    });
  });

  it("refuses answers that hold no token", async () => {
    const bodies = [
      "",
      "[]",
      "<html>",
      {},
      { token: 5 },
      { token: "" },
      { token: "a\r\nX: y" },
      { token: "x".repeat(65_537) },
    ];
    for (const body of bodies) {
      await withTokens([answer(body)], async (server) => {
        const work = new TokenAuth(ACCESS, defaultHttpOptions).refused(bearer(server.origin));
        await assert.rejects(work, /without a token|is not (?:a )?JSON/);
      });
    }
    await withTokens([answer("x".repeat(300_000))], async (server) => {
      const work = new TokenAuth(ACCESS, defaultHttpOptions).refused(bearer(server.origin));
      await denied(work, "SOURCE_UNAVAILABLE", /more than 262144 bytes/);
    });
  });

  it("says whose credentials were refused", async () => {
    await withTokens([{ status: 401 }], async (server) => {
      const named = new TokenAuth({ ...ACCESS, login: LOGIN }, defaultHttpOptions);
      await denied(named.refused(bearer(server.origin)), "SOURCE_DENIED", /does not accept the credentials \(401\)/);
      const nobody = new TokenAuth(ACCESS, defaultHttpOptions);
      await denied(nobody.refused(bearer(server.origin)), "SOURCE_DENIED", /without credentials \(401\)/);
    });
  });
});
