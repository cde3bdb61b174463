import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { inRegion, isRegion, isS3Name, parseS3Object, urlOf } from "../../../importer/cloud/s3-object.ts";
import { UsageError } from "../../../importer/errors.ts";

type Env = Readonly<Record<string, string>>;

/** What is asked for, and the region that it is signed for. */
function asked(text: string, env: Env = {}, region?: string): readonly string[] {
  const object = parseS3Object(text, { env, region });
  return [urlOf(object), object.region];
}

describe("S3 object", () => {
  it("asks AWS with the bucket in the host where a certificate allows it", () => {
    assert.deepEqual(asked("s3://images/a/b.qcow2"), [
      "https://images.s3.us-east-1.amazonaws.com/a/b.qcow2",
      "us-east-1",
    ]);
    for (const bucket of ["with.dots", "Upper", "under_score", "ab", "-x-"]) {
      assert.equal(asked(`s3://${bucket}/k`)[0], `https://s3.us-east-1.amazonaws.com/${bucket}/k`);
    }
    assert.deepEqual(asked("S3://images/k", { AWS_REGION: "cn-north-1" }), [
      "https://images.s3.cn-north-1.amazonaws.com.cn/k",
      "cn-north-1",
    ]);
  });

  it("takes a key as it is written (spaces, unicode, +, slashes, %)", () => {
    assert.equal(
      asked("s3://b/a%20b +ü?x#y//z")[0],
      "https://s3.us-east-1.amazonaws.com/b/a%2520b%20%2B%C3%BC%3Fx%23y//z",
    );
    const object = parseS3Object("s3://b//k/", { env: {} });
    assert.deepEqual([object.bucket, object.key, object.name], ["b", "/k/", "s3://b//k/"]);
  });

  it("takes the region from what is said, then from the host of AWS, then from the environment", () => {
    const env = { AWS_REGION: "eu-west-1", AWS_DEFAULT_REGION: "eu-west-2" };
    assert.equal(asked("s3://b/k", env)[1], "eu-west-1");
    assert.equal(asked("s3://b/k", { AWS_DEFAULT_REGION: "eu-west-2" })[1], "eu-west-2");
    assert.equal(asked("s3://b/k", env, "ap-south-1")[1], "ap-south-1");
    assert.equal(asked("https://s3.us-west-2.amazonaws.com/b/k", env)[1], "us-west-2");
    assert.equal(asked("https://s3.us-west-2.amazonaws.com/b/k", env, "ap-south-1")[1], "ap-south-1");
  });

  it("reads the region out of every spelling of AWS's hosts (N16)", () => {
    const hosts: Readonly<Record<string, readonly [host: string, region: string]>> = {
      "s3.us-west-2.amazonaws.com": ["s3.us-west-2.amazonaws.com", "us-west-2"],
      "s3.amazonaws.com": ["s3.us-east-1.amazonaws.com", "us-east-1"],
      "s3-eu-west-1.amazonaws.com": ["s3.eu-west-1.amazonaws.com", "eu-west-1"],
      "s3.dualstack.us-west-2.amazonaws.com": ["s3.dualstack.us-west-2.amazonaws.com", "us-west-2"],
      "s3-fips.us-gov-east-1.amazonaws.com": ["s3-fips.us-gov-east-1.amazonaws.com", "us-gov-east-1"],
      "s3-fips.dualstack.us-east-2.amazonaws.com": ["s3-fips.dualstack.us-east-2.amazonaws.com", "us-east-2"],
      "s3-external-1.amazonaws.com": ["s3.us-east-1.amazonaws.com", "us-east-1"],
      "s3.cn-north-1.amazonaws.com.cn": ["s3.cn-north-1.amazonaws.com.cn", "cn-north-1"],
      "S3.EU-Central-1.AmazonAWS.com": ["s3.eu-central-1.amazonaws.com", "eu-central-1"],
    };
    for (const [named, [host, region]] of Object.entries(hosts)) {
      assert.deepEqual(asked(`https://${named}/images/a/k`), [`https://images.${host}/a/k`, region], named);
      assert.deepEqual(asked(`https://images.${named}/a/k`), [`https://images.${host}/a/k`, region], `images.${named}`);
      assert.deepEqual(asked(`http://${named}/with.dots/k`), [`http://${host}/with.dots/k`, region]);
    }
  });

  it("asks everybody else with the bucket in the path, an address above all (N15)", () => {
    const places: Readonly<Record<string, string>> = {
      "http://10.0.0.1:9000": "us-east-1",
      "http://[::1]:9000": "us-east-1",
      "https://minio.example.com:9000": "us-east-1",
      "https://s3.example.com": "us-east-1",
      "https://s3.my-company.com": "us-east-1",
      "https://s3.eu-central-003.example.com": "eu-central-003",
      "https://s3.fr-par.scw.example": "fr-par",
      "https://bucket.vpce-1a2b-3c.s3.us-east-2.vpce.amazonaws.com": "us-east-2",
      "https://s3.us-west-2.amazonaws.com.evil.example": "us-east-1",
    };
    for (const [origin, region] of Object.entries(places)) {
      assert.deepEqual(asked(`${origin}/images/a%20b/k?versionId=1#x`), [`${origin}/images/a%20b/k`, region], origin);
    }
    assert.equal(asked("https://s3.eu-central-003.example.com/b/k", { AWS_REGION: "garage" })[1], "garage");
    assert.equal(asked("http://minio/b/k", {}, "custom")[1], "custom");
  });

  it("goes to the endpoint of the environment, the one of S3 first", () => {
    const env = { AWS_ENDPOINT_URL: "http://one:1/base/", AWS_ENDPOINT_URL_S3: "http://two:2" };
    assert.equal(asked("s3://b/k", env)[0], "http://two:2/b/k");
    assert.equal(asked("s3://b/k", { AWS_ENDPOINT_URL: "http://one:1/base/" })[0], "http://one:1/base/b/k");
    assert.deepEqual(asked("s3://images/k", { AWS_ENDPOINT_URL: "https://s3.eu-west-3.amazonaws.com" }), [
      "https://images.s3.eu-west-3.amazonaws.com/k",
      "eu-west-3",
    ]);
    assert.equal(asked("http://three:3/b/k", env)[0], "http://three:3/b/k", "a URL names its own");
    assert.equal(asked("s3://b/k", { AWS_ENDPOINT_URL: "" })[0], "https://s3.us-east-1.amazonaws.com/b/k");
  });

  it("goes to the host of another region", () => {
    const object = parseS3Object("https://s3.dualstack.us-west-2.amazonaws.com/images/k", { env: {} });
    assert.equal(urlOf(inRegion(object, "eu-west-3")), "https://images.s3.dualstack.eu-west-3.amazonaws.com/k");
    const other = parseS3Object("http://minio:9000/images/k", { env: {} });
    assert.equal(urlOf(inRegion(other, "eu-west-3")), "http://minio:9000/images/k");
    for (const region of ["", "evil.example/", "a b", "-a", "x".repeat(64)]) {
      assert.equal(isRegion(region), false, region);
      assert.throws(() => inRegion(object, region));
    }
  });

  it("shows no user info and no query", () => {
    assert.equal(
      parseS3Object("https://me:secret@minio/b/k?X-Amz-Signature=secret", { env: {} }).name,
      "https://minio/b/k",
    );
  });

  it("refuses what names no object", () => {
    const wrong = [
      "s3://",
      "s3://b",
      "s3://b/",
      "s3:///k",
      "http://minio",
      "http://minio/b",
      "http://minio/b/",
      "s3://b/a/../k",
    ];
    for (const name of [...wrong, "http://minio/b/a/%2e%2e/k", "https://images.s3.amazonaws.com/", "ftp://minio/b/k"]) {
      assert.throws(() => parseS3Object(name, { env: {} }), UsageError, name);
    }
    const secrets: readonly (readonly [string, Env])[] = [
      ["s3://key:secret@b/k", {}],
      ["s3://b/k", { AWS_ENDPOINT_URL: "secret" }],
      ["s3://b/k", { AWS_REGION: "secret/" }],
    ];
    for (const [name, env] of secrets) {
      assert.throws(
        () => parseS3Object(name, { env }),
        (error) => error instanceof UsageError && !`${error.message} ${error.remedy}`.includes("secret"),
      );
    }
  });

  it("knows its names", () => {
    assert.ok(isS3Name("S3://b/k"));
    assert.ok(!isS3Name("s3:b/k"));
  });
});
