import assert from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import { describe, it } from "node:test";
import { AwsAuthorizer } from "../../../importer/cloud/aws-authorizer.ts";
import type { AwsSigning } from "../../../importer/cloud/aws-authorizer.ts";
import { encodeKey } from "../../../importer/cloud/object-path.ts";
import { SourceError } from "../../../importer/errors.ts";
import { defaultHttpOptions } from "../../../importer/http/http-options.ts";

/** The keys, the time and the bucket of the examples in Amazon's S3 API reference. */
const EXAMPLE: AwsSigning = {
  credentials: {
    accessKeyId: "AKIAIOSFODNN7EXAMPLE",
    secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    sessionToken: undefined,
    expiresAtMs: undefined,
  },
  region: "us-east-1",
  profile: undefined,
  clockOffsetMs: 0,
};
const EXAMPLE_TIME = Date.UTC(2013, 4, 24);

type Headers = readonly (readonly [name: string, value: string])[];

async function signed(
  url: string,
  headers: Headers = [],
  signing: AwsSigning = EXAMPLE,
): Promise<Readonly<Record<string, string>>> {
  const authorizer = new AwsAuthorizer(signing, defaultHttpOptions, () => EXAMPLE_TIME);
  const added = await authorizer.headers({ method: "GET", url: new URL(url), headers });
  return Object.fromEntries(added.map(([name, value]) => [name.toLowerCase(), value]));
}

/** Signature Version 4, step by step as the reference describes it. */
function signature(
  url: string,
  headers: Readonly<Record<string, string>>,
  { credentials, region }: AwsSigning,
): string {
  const { host, pathname } = new URL(url);
  const all: Record<string, string> = { host, ...headers };
  const names = Object.keys(all).sort();
  const lines = names.map((name) => `${name}:${all[name]}\n`).join("");
  const canonical = ["GET", pathname, "", lines, names.join(";"), headers["x-amz-content-sha256"]].join("\n");
  const time = headers["x-amz-date"] ?? "";
  const scope = `${time.slice(0, 8)}/${region}/s3/aws4_request`;
  const toSign = ["AWS4-HMAC-SHA256", time, scope, createHash("sha256").update(canonical).digest("hex")].join("\n");
  const key = scope.split("/").reduce<string | Buffer>(hmac, `AWS4${credentials.secretAccessKey}`);
  return hmac(key, toSign).toString("hex");
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

describe("AWS authorizer", () => {
  it("signs the reference's example as the reference does", async () => {
    const headers = await signed("https://examplebucket.s3.amazonaws.com/test.txt", [["Range", "bytes=0-9"]]);
    const scope = "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request";
    const names = "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date";
    const expected = "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41";
    assert.equal(headers["authorization"], `AWS4-HMAC-SHA256 ${scope}, ${names}, Signature=${expected}`);
    assert.equal(headers["x-amz-date"], "20130524T000000Z");
    assert.deepEqual(Object.keys(headers).sort(), ["authorization", "x-amz-content-sha256", "x-amz-date"]);
  });

  it("sends the session token, and signs it (N18)", async () => {
    const signing = { ...EXAMPLE, credentials: { ...EXAMPLE.credentials, sessionToken: "token/+=" } };
    const url = "https://examplebucket.s3.amazonaws.com/test.txt";
    const { authorization = "", ...headers } = await signed(url, [], signing);
    assert.equal(headers["x-amz-security-token"], "token/+=");
    assert.match(authorization, /SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,/);
    assert.ok(authorization.endsWith(`Signature=${signature(url, headers, signing)}`));
  });

  it("signs any key, port, region, range and x-amz- header, and nothing else", async () => {
    const signing = { ...EXAMPLE, region: "eu-test-1" };
    for (const key of ["a b+c/ü", "a//b", "!'()*~", "100%", "a?b#c&d=e"]) {
      const url = `http://127.0.0.1:9000/bucket/${encodeKey(key)}`;
      const { authorization = "", ...headers } = await signed(
        url,
        [
          ["Range", "bytes=5-"],
          ["X-Amz-Request-Payer", "requester"],
          ["x-amz-tag", "a"],
          ["x-amz-tag", "b"],
          ["User-Agent", "decant"],
          ["Accept-Encoding", "identity"],
          ["If-Range", '"etag"'],
        ],
        signing,
      );
      const sent = { ...headers, range: "bytes=5-", "x-amz-request-payer": "requester", "x-amz-tag": "a, b" };
      assert.ok(authorization.endsWith(`Signature=${signature(url, sent, signing)}`), key);
      assert.doesNotMatch(authorization, /user-agent|accept-encoding|if-range/);
    }
  });

  it("goes by the server's clock", async () => {
    const headers = await signed("http://minio/b/k", [], { ...EXAMPLE, clockOffsetMs: -3_600_000 });
    assert.equal(headers["x-amz-date"], "20130523T230000Z");
  });

  it("asks for other credentials before they expire, and says so where there are none", async () => {
    process.env["AWS_EC2_METADATA_DISABLED"] = "true";
    process.env["HOME"] = "/nowhere";
    const at = (expiresAtMs: number) => ({ ...EXAMPLE, credentials: { ...EXAMPLE.credentials, expiresAtMs } });
    await signed("http://minio/b/k", [], at(EXAMPLE_TIME + 10 * 60_000));
    await assert.rejects(
      signed("http://minio/b/k", [], at(EXAMPLE_TIME + 60_000)),
      (error) => error instanceof SourceError && error.code === "SOURCE_DENIED" && error.message.includes("expired"),
    );
    process.env["AWS_ACCESS_KEY_ID"] = "another";
    process.env["AWS_SECRET_ACCESS_KEY"] = "secret";
    const renewed = await signed("http://minio/b/k", [], at(EXAMPLE_TIME + 60_000));
    assert.match(renewed["authorization"] ?? "", /Credential=another\//);
  });
});
