import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { anonymous, authorizerFor, basicAuthorizer } from "../../../importer/http/authorization.ts";
import type { Credentials } from "../../../importer/http/authorization.ts";
import { defaultHttpOptions } from "../../../importer/http/http-options.ts";

const REQUEST = { method: "GET", url: new URL("http://host/path"), headers: [] } as const;

async function header(credentials: Credentials | undefined): Promise<string | undefined> {
  const added = await authorizerFor(credentials, defaultHttpOptions, () => 0).headers(REQUEST);
  return added.find(([name]) => name.toLowerCase() === "authorization")?.[1];
}

describe("authorization", () => {
  it("is nothing, a password, a token", async () => {
    assert.equal(await header(undefined), undefined);
    assert.deepEqual(await anonymous.headers(REQUEST), []);
    assert.equal(await header({ kind: "basic", user: "me", password: "ü:" }), "Basic bWU6w7w6");
    assert.equal(await header({ kind: "bearer", token: "abc" }), "Bearer abc");
    assert.deepEqual(await basicAuthorizer({ user: "me", password: "" }).headers(REQUEST), [
      ["Authorization", "Basic bWU6"],
    ]);
  });

  it("is a signature or a token of a cloud, from plain data that another thread may have", async () => {
    const aws: Credentials = {
      kind: "aws",
      credentials: { accessKeyId: "key", secretAccessKey: "s", sessionToken: undefined, expiresAtMs: undefined },
      region: "eu-test-1",
      profile: undefined,
      clockOffsetMs: 0,
    };
    const signed = await header(structuredClone(aws));
    assert.match(signed ?? "", /^AWS4-HMAC-SHA256 Credential=key\/19700101\/eu-test-1\/s3\/aws4_request, /);
    const google: Credentials = { kind: "google", token: "abc", expiresAtMs: undefined, credentialsFile: undefined };
    assert.equal(await header(structuredClone(google)), "Bearer abc");
  });

  it("has no other credentials to offer after a refusal, where they do not renew themselves", async () => {
    const fixed: readonly (Credentials | undefined)[] = [undefined, { kind: "bearer", token: "abc" }];
    for (const credentials of fixed) {
      assert.ok(!("refused" in authorizerFor(credentials, defaultHttpOptions, () => 0)));
    }
    const signing = { region: "r", profile: undefined, clockOffsetMs: 0 };
    const keys = { accessKeyId: "key", secretAccessKey: "s", sessionToken: undefined, expiresAtMs: undefined };
    const aws = authorizerFor({ kind: "aws", credentials: keys, ...signing }, defaultHttpOptions, () => 0);
    assert.equal(await aws.refused?.(undefined), false);
  });
});
