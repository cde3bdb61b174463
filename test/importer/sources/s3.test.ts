import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { inspect } from "node:util";
import { SourceError } from "../../../importer/errors.ts";
import { HttpClient } from "../../../importer/http/http-client.ts";
import { defaultHttpOptions } from "../../../importer/http/http-options.ts";
import { systemPace } from "../../../importer/http/pace.ts";
import { RangeReader } from "../../../importer/http/range-reader.ts";
import { MAX_ATTEMPTS } from "../../../importer/http/retry-delay.ts";
import { errorText } from "../../../importer/outcome.ts";
import { openS3 } from "../../../importer/sources/s3.ts";
import type { OpenS3Options } from "../../../importer/sources/s3.ts";
import { baseDisk } from "../../support/base-disk.ts";
import { goProgram } from "../../support/go-programs.ts";
import { readAll } from "../../support/http-client.ts";
import { withServer } from "../../support/misbehaving-server.ts";
import type { MisbehavingServer, Misdeed, ServerSettings } from "../../support/misbehaving-server.ts";
import { withVersitygw } from "../../support/versitygw.ts";
import type { S3Service } from "../../support/versitygw.ts";

const BYTES = baseDisk(700_001);
const SECRET = "hunter2";
const KEYS = { accessKeyId: `key-${SECRET}`, secretAccessKey: SECRET, sessionToken: `token-${SECRET}` };

// Nobody's credentials are what this machine has: the chain reads the process's own environment.
for (const name of Object.keys(process.env)) if (name.startsWith("AWS_")) delete process.env[name];
process.env["HOME"] = "/nowhere";
process.env["AWS_EC2_METADATA_DISABLED"] = "true";

function options(more: Partial<OpenS3Options> = {}): OpenS3Options {
  return { http: defaultHttpOptions, env: {}, allowsPages: false, ...more };
}

async function bytesOf(name: string, more: Partial<OpenS3Options>): Promise<Buffer> {
  const source = await openS3(name, options(more));
  try {
    return await readAll(source.stream());
  } finally {
    source.close();
  }
}

async function failureOf(name: string, more: Partial<OpenS3Options>): Promise<SourceError> {
  const failure = await bytesOf(name, more).then(
    () => undefined,
    (error: unknown) => error,
  );
  assert.ok(failure instanceof SourceError, inspect(failure));
  const shown = [errorText(failure), inspect(failure, { depth: 10, showHidden: true }), JSON.stringify(failure)];
  for (const text of shown) assert.ok(!text.includes(SECRET), text);
  return failure;
}

function refusal(code: string, more = ""): Buffer {
  return Buffer.from(`<Error><Code>${code}</Code><Message>${SECRET}</Message>${more}</Error>`);
}

const versitygw = await goProgram("versitygw");

describe("source: S3, from versitygw", { skip: versitygw.skip }, () => {
  const withService = async (use: (service: S3Service) => Promise<void>): Promise<void> => {
    await withVersitygw(versitygw.path, "images", async (service) => {
      await service.put("images/disk.raw", BYTES);
      await use(service);
    });
  };

  it("gives all bytes, and ranges that are signed too", async () => {
    await withService(async ({ endpoint, credentials, region }) => {
      const env = { AWS_ENDPOINT_URL: endpoint };
      const source = await openS3("s3://images/disk.raw", options({ credentials, region, env }));
      assert.deepEqual([source.name, source.size, source.path], ["s3://images/disk.raw", BYTES.length, undefined]);
      assert.ok((await readAll(source.stream())).equals(BYTES));
      assert.ok(source.ranges !== undefined);
      const { http, spec } = structuredClone(source.ranges);
      const client = new HttpClient(http);
      const part = await new RangeReader(client, spec).readRange(1000, 5000);
      assert.ok(BYTES.subarray(1000, 6000).equals(part));
      client.close();
      source.close();
    });
  });

  it("reads by address, path and port (N15), and keys with spaces, unicode and +", async () => {
    await withService(async ({ endpoint, credentials, region, put }) => {
      const key = "a b+c/ü €=&%41.raw";
      await put(`images/${key}`, BYTES.subarray(0, 5000));
      const url = `${endpoint}/images/${encodeURI(key)}`;
      for (const name of [`s3://images/${key}`, url]) {
        const bytes = await bytesOf(name, { credentials, region, env: { AWS_ENDPOINT_URL: endpoint } });
        assert.ok(bytes.equals(BYTES.subarray(0, 5000)), name);
      }
    });
  });

  it("learns the region from a refusal, once (N16)", async () => {
    await withService(async ({ endpoint, credentials, region, statuses }) => {
      const before = statuses().length;
      assert.ok((await bytesOf(`${endpoint}/images/disk.raw`, { credentials })).equals(BYTES));
      assert.deepEqual(statuses().slice(before), [400, 400, 200]);
      assert.ok((await bytesOf(`${endpoint}/images/disk.raw`, { credentials, region })).equals(BYTES));
      assert.deepEqual(statuses().slice(before), [400, 400, 200, 200]);
    });
  });

  it("goes by the service's clock where this machine's is wrong", async () => {
    await withService(async ({ endpoint, credentials, region, statuses }) => {
      const before = statuses().length;
      const pace = { ...systemPace, now: () => Date.now() + 3_600_000 };
      assert.ok((await bytesOf(`${endpoint}/images/disk.raw`, { credentials, region, pace })).equals(BYTES));
      assert.deepEqual(statuses().slice(before), [403, 403, 200]);
    });
  });

  it("says what is wrong: a secret, a key, an object, a bucket, nobody's credentials", async () => {
    await withService(async ({ endpoint, credentials, region }) => {
      const told = async (name: string, more: Partial<OpenS3Options>) => {
        const failure = await failureOf(`${endpoint}/${name}`, { region, ...more });
        return [failure.code, failure.context["reason"]];
      };
      const wrongSecret = { ...credentials, secretAccessKey: SECRET };
      const wrongKey = { ...credentials, accessKeyId: SECRET };
      assert.deepEqual(await told("images/disk.raw", { credentials: wrongSecret }), [
        "SOURCE_DENIED",
        "SignatureDoesNotMatch",
      ]);
      assert.equal((await told("images/disk.raw", { credentials: wrongKey }))[0], "SOURCE_DENIED");
      assert.deepEqual(await told("images/absent", { credentials }), ["SOURCE_NOT_FOUND", "NoSuchKey"]);
      assert.deepEqual(await told("absent/disk.raw", { credentials }), ["SOURCE_NOT_FOUND", "NoSuchBucket"]);
      const denied = await failureOf(`${endpoint}/images/disk.raw`, {});
      assert.equal(denied.code, "SOURCE_DENIED");
      assert.match(denied.remedy ?? "", /^No credentials were given or found/);
    });
  });

  it("reads as anybody what is for everybody", async () => {
    await withService(async ({ endpoint, put }) => {
      const statement = { Effect: "Allow", Principal: "*", Action: "s3:GetObject", Resource: "arn:aws:s3:::images/*" };
      await put("images", JSON.stringify({ Version: "2012-10-17", Statement: [statement] }), { policy: "" });
      assert.ok((await bytesOf(`${endpoint}/images/disk.raw`, {})).equals(BYTES));
    });
  });
});

describe("source: S3", () => {
  const withS3 = async (
    misdeed: (number: number) => Misdeed | undefined,
    use: (server: MisbehavingServer) => Promise<void>,
    more: Partial<ServerSettings> = {},
  ): Promise<void> => await withServer({ bytes: BYTES, etag: '"one"', misdeed, ...more }, use);

  it("sends the session token and signs it, for the whole, for what is missing after a cut, and for a range (N18)", async () => {
    await withS3(
      (number) => (number === 1 ? { cutAfter: 300_000 } : undefined),
      async (server) => {
        const env = { AWS_ACCESS_KEY_ID: "key", AWS_SECRET_ACCESS_KEY: SECRET, AWS_SESSION_TOKEN: "token/+=" };
        const source = await openS3(`${server.origin}/b/k`, options({ env }));
        assert.ok((await readAll(source.stream())).equals(BYTES));
        assert.ok(source.ranges !== undefined);
        const client = new HttpClient(source.ranges.http);
        await new RangeReader(client, source.ranges.spec).readRange(5, 100);
        client.close();
        source.close();
        assert.deepEqual(
          server.requests.map(({ headers }) => headers.range),
          [undefined, "bytes=300000-", "bytes=5-104"],
        );
        for (const { headers } of server.requests) {
          assert.equal(headers["x-amz-security-token"], "token/+=");
          const names = `host;${headers.range === undefined ? "" : "range;"}x-amz-content-sha256;x-amz-date;x-amz-security-token`;
          assert.ok(headers.authorization?.includes(`SignedHeaders=${names},`), headers.authorization);
        }
      },
    );
  });

  it("follows AWS to the bucket's region, with the bucket in the host's name", async () => {
    const elsewhere = {
      status: 301,
      headers: { "x-amz-bucket-region": "eu-west-3" },
      bytes: refusal("PermanentRedirect"),
    };
    await withS3(
      (number) => (number <= 2 ? elsewhere : undefined),
      async (server) => {
        const http = { ...defaultHttpOptions, proxies: { ...defaultHttpOptions.proxies, http: server.origin } };
        const bytes = await bytesOf("http://s3.amazonaws.com/images/a/k", { credentials: KEYS, http });
        assert.ok(bytes.equals(BYTES));
        const [first, , last] = server.requests;
        assert.equal(first?.path, "http://images.s3.us-east-1.amazonaws.com/a/k");
        assert.match(first?.headers.authorization ?? "", /\/us-east-1\/s3\/aws4_request/);
        assert.equal(last?.path, "http://images.s3.eu-west-3.amazonaws.com/a/k");
        assert.match(last?.headers.authorization ?? "", /\/eu-west-3\/s3\/aws4_request/);
      },
    );
  });

  it("is led by a refusal once, not in circles", async () => {
    let regions = 0;
    const other = () => refusal("AuthorizationHeaderMalformed", `<Region>region-${(regions += 1)}</Region>`);
    await withS3(
      () => ({ status: 400, bytes: other() }),
      async (server) => {
        const failure = await failureOf(`${server.origin}/b/k`, { credentials: KEYS });
        assert.equal(failure.code, "SOURCE_DENIED");
        assert.match(failure.remedy ?? "", /AWS_REGION/);
        assert.equal(server.requests.length, 4);
      },
    );
    await withS3(
      () => ({ status: 403, bytes: refusal("RequestTimeTooSkewed") }),
      async (server) => {
        const failure = await failureOf(`${server.origin}/b/k`, { credentials: KEYS });
        assert.match(failure.remedy ?? "", /clock/);
        assert.equal(server.requests.length, 4);
      },
    );
  });

  it("does not ask why of a service that is overloaded", async () => {
    const pace = { ...systemPace, delay: () => Promise.resolve() };
    await withS3(
      () => ({ status: 503, bytes: refusal("SlowDown") }),
      async (server) => {
        assert.equal((await failureOf(`${server.origin}/b/k`, { credentials: KEYS, pace })).code, "SOURCE_UNAVAILABLE");
        assert.equal(server.requests.length, MAX_ATTEMPTS);
      },
    );
  });

  it("leaves key and token behind where a redirect leads to another address", async () => {
    await withServer({ bytes: BYTES, etag: '"one"' }, async (other) => {
      await withS3(
        () => ({ status: 307, headers: { location: `${other.origin}/k` } }),
        async (server) => {
          assert.ok((await bytesOf(`${server.origin}/b/k`, { credentials: KEYS })).equals(BYTES));
          assert.equal(other.requests.length, 1);
          assert.ok(!inspect(other.requests, { depth: 9 }).includes(SECRET));
          assert.equal(other.requests[0]?.headers.authorization, undefined);
        },
      );
    });
  });

  it("opens the same object once more", async () => {
    await withS3(
      () => undefined,
      async (server) => {
        const source = await openS3(`${server.origin}/b/k`, options({ credentials: KEYS }));
        source.close();
        const again = await source.reopen?.();
        assert.equal(again?.name, `${server.origin}/b/k`);
        assert.ok(again !== undefined && (await readAll(again.stream())).equals(BYTES));
        again.close();
      },
    );
  });

  it("shows no key, token, or word of the service, whatever happens", async () => {
    const misdeeds: readonly Misdeed[] = [
      { status: 400, bytes: refusal("ExpiredToken", `<Token-0>${KEYS.sessionToken}</Token-0>`) },
      { status: 400, bytes: refusal(SECRET) },
      { status: 401, headers: { "www-authenticate": SECRET } },
      { status: 403, bytes: refusal("SignatureDoesNotMatch", `<StringToSign>${SECRET}</StringToSign>`) },
      { status: 403, bytes: Buffer.alloc(100_000, SECRET) },
      { status: 404, bytes: Buffer.from(`<html>${SECRET}`) },
      { status: 301, headers: { location: `http://${SECRET}@[` } },
      { status: 302, headers: { location: `/?X-Amz-Signature=${SECRET}` } },
      { status: 500, bytes: refusal("InternalError") },
      { hangsUp: true },
      { stallAfter: 10 },
    ];
    const pace = { ...systemPace, delay: () => Promise.resolve() };
    for (const misdeed of misdeeds) {
      await withS3(
        () => misdeed,
        async (server) => {
          const http = { ...defaultHttpOptions, stallMs: 50 };
          const url = `${server.origin.replace("//", `//${SECRET}:${SECRET}@`)}/b/k?X-Amz-Signature=${SECRET}`;
          await failureOf(url, { credentials: KEYS, http, pace });
        },
      );
    }
  });
});
