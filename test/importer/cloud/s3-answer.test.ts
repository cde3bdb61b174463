import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readS3Answer, s3Failure } from "../../../importer/cloud/s3-answer.ts";

function answer(status: number, body: string, headers: Readonly<Record<string, string>> = {}) {
  return readS3Answer({ status, headers: new Headers(headers), bytes: Buffer.from(body) });
}

function refusal(code: string, more = ""): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>Words</Message>${more}</Error>`;
}

describe("S3 answer", () => {
  it("reads the code, the region and the server's clock", () => {
    const date = "Mon, 30 Nov 2026 03:26:02 GMT";
    const malformed = refusal("AuthorizationHeaderMalformed", "<Region>eu-west-1</Region>");
    assert.deepEqual(answer(400, malformed, { date }), {
      status: 400,
      code: "AuthorizationHeaderMalformed",
      region: "eu-west-1",
      servedAtMs: Date.parse(date),
    });
    assert.equal(answer(301, "", { "x-amz-bucket-region": "ap-south-1" }).region, "ap-south-1");
    assert.equal(answer(301, malformed, { "x-amz-bucket-region": "ap-south-1" }).region, "ap-south-1");
    const prefixed = `<s:Error xmlns:s="x"><Code> NoSuchKey </Code></s:Error>`;
    assert.equal(answer(404, prefixed).code, "NoSuchKey");
  });

  it("takes nothing that it does not know from a hostile answer", () => {
    const bodies = [
      "",
      "<",
      "<html>no</html>",
      "{}",
      "<Error/>",
      "<Error>x</Error>",
      "<Error><Code><a/></Code></Error>",
    ];
    const hostile = [
      refusal("constructor"),
      refusal("hunter2"),
      refusal("__proto__"),
      "<!DOCTYPE a [<!ENTITY b 'c'>]><a/>",
    ];
    for (const body of [...bodies, ...hostile, `<Error>${"<a>".repeat(10_000)}`]) {
      const read = answer(403, body, { "x-amz-bucket-region": "evil.example/", date: "never" });
      assert.deepEqual(read, { status: 403, code: undefined, region: undefined, servedAtMs: undefined }, body);
    }
    assert.equal(answer(400, refusal("AuthorizationHeaderMalformed", "<Region>a.b/</Region>")).region, undefined);
  });

  it("says what a refusal means", () => {
    const meant = (status: number, code: string, anonymous = false) => {
      const failure = s3Failure(answer(status, refusal(code)), "s3://b/k", anonymous);
      return [failure?.code, failure?.message];
    };
    assert.deepEqual(meant(404, "NoSuchKey"), [
      "SOURCE_NOT_FOUND",
      "cannot read s3://b/k: there is no such object (NoSuchKey)",
    ]);
    assert.deepEqual(meant(404, "NoSuchBucket")[0], "SOURCE_NOT_FOUND");
    assert.deepEqual(meant(403, "SignatureDoesNotMatch"), [
      "SOURCE_DENIED",
      "cannot read s3://b/k: the signature does not match (SignatureDoesNotMatch)",
    ]);
    assert.deepEqual(meant(400, "ExpiredToken")[0], "SOURCE_DENIED");
    assert.deepEqual(meant(403, "InvalidObjectState")[0], "SOURCE_UNAVAILABLE");
    assert.deepEqual(meant(403, "Whatever"), ["SOURCE_DENIED", "cannot read s3://b/k: access is denied (403)"]);
    assert.deepEqual(meant(404, "Whatever"), [
      "SOURCE_NOT_FOUND",
      "cannot read s3://b/k: there is no such object (404)",
    ]);
    assert.deepEqual(meant(302, "Whatever"), [
      "SOURCE_UNAVAILABLE",
      "cannot read s3://b/k: it is somewhere else (302)",
    ]);
    assert.deepEqual(meant(400, "Whatever"), [undefined, undefined], "the client's own words are better");
  });

  it("tells whoever has no credentials that this is why", () => {
    const remedy = (status: number, code: string, anonymous: boolean) =>
      s3Failure(answer(status, refusal(code)), "s3://b/k", anonymous)?.remedy ?? "";
    assert.match(remedy(403, "AccessDenied", true), /asked for as anybody/);
    assert.match(remedy(403, "AccessDenied", false), /may not list/);
    assert.doesNotMatch(remedy(404, "NoSuchKey", true), /anybody/);
    assert.match(remedy(307, "Whatever", false), /redirects to another address/);
  });
});
