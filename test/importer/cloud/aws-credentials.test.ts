import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import { inspect } from "node:util";
import { findAwsCredentials } from "../../../importer/cloud/aws-credentials.ts";
import { SourceError, UsageError } from "../../../importer/errors.ts";
import { defaultHttpOptions } from "../../../importer/http/http-options.ts";
import { makeAuthority } from "../../support/certificates.ts";
import { withServer } from "../../support/misbehaving-server.ts";
import { requireTools } from "../../support/tools.ts";

const SECRET = "hunter2";

/** The chain reads the process's own environment. */
let folder: string;
const original = { ...process.env };

before(() => {
  folder = fs.mkdtempSync("/tmp/decant-test-");
});

beforeEach(() => {
  for (const name of Object.keys(process.env)) if (name.startsWith("AWS_")) delete process.env[name];
  process.env["HOME"] = folder;
  process.env["AWS_EC2_METADATA_DISABLED"] = "true";
});

after(() => {
  process.env = original;
  fs.rmSync(folder, { recursive: true });
});

async function found(env: NodeJS.ProcessEnv = process.env, network = defaultHttpOptions) {
  return await findAwsCredentials(env, "eu-test-1", network);
}

function write(name: string, text: string): string {
  const file = path.join(folder, name);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, text);
  return file;
}

describe("AWS credentials", () => {
  it("are those of the environment, with the session token", async () => {
    const pair = { AWS_ACCESS_KEY_ID: "key", AWS_SECRET_ACCESS_KEY: SECRET };
    const expected = { accessKeyId: "key", secretAccessKey: SECRET, expiresAtMs: undefined };
    assert.deepEqual(await found(pair), { ...expected, sessionToken: undefined });
    const token = { AWS_SESSION_TOKEN: "token", AWS_PROFILE: "another" };
    assert.deepEqual(await found({ ...pair, ...token }), { ...expected, sessionToken: "token" });
  });

  it("are refused by halves, without a word of them", async () => {
    for (const name of ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]) {
      await assert.rejects(
        found({ [name]: SECRET }),
        (error) => error instanceof UsageError && !inspect(error).includes(SECRET),
      );
    }
  });

  it("are none where there are none", async () => {
    assert.equal(await found(), undefined);
    assert.equal(await found({ AWS_PROFILE: "absent" }), undefined);
  });

  it("are those of a profile, of files at home or elsewhere", async () => {
    // What was read once is not read again.
    process.env["HOME"] = path.join(folder, "home");
    const profiles = `[default]\naws_access_key_id = one\naws_secret_access_key = ${SECRET}\n`;
    write("home/.aws/credentials", `${profiles}[second]\naws_access_key_id = two\naws_secret_access_key = ${SECRET}\n`);
    assert.equal((await found())?.accessKeyId, "one");
    assert.equal((await found({ AWS_PROFILE: "second" }))?.accessKeyId, "two");
    process.env["AWS_SHARED_CREDENTIALS_FILE"] = write("elsewhere", profiles.replace("one", "three"));
    assert.equal((await found())?.accessKeyId, "three");
  });

  it("are what a profile's program says, and its failure is told without its words", async () => {
    const expires = "2033-05-18T03:33:20Z";
    const answer = { Version: 1, AccessKeyId: "made", SecretAccessKey: SECRET, SessionToken: "t", Expiration: expires };
    const program = write("program", `#!/bin/sh\necho '${JSON.stringify(answer)}'\n`);
    process.env["AWS_CONFIG_FILE"] = write("config", `[default]\ncredential_process = sh ${program}\n`);
    assert.deepEqual(await found(), {
      accessKeyId: "made",
      secretAccessKey: SECRET,
      sessionToken: "t",
      expiresAtMs: Date.parse(expires),
    });
    process.env["AWS_CONFIG_FILE"] = write(
      "broken",
      `[default]\ncredential_process = sh -c 'echo ${SECRET} >&2; exit 1'\n`,
    );
    const failure = await found().catch((error: unknown) => error);
    assert.ok(failure === undefined || failure instanceof SourceError);
    assert.ok(!inspect(failure, { depth: 9 }).includes(SECRET));
  });

  it(
    "are those of a web identity, asked for over TLS as the run trusts it",
    { skip: requireTools("openssl") },
    async () => {
      const tls = makeAuthority(folder).issue("IP:127.0.0.1");
      const body = `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
      <AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>role</AccessKeyId>
      <SecretAccessKey>${SECRET}</SecretAccessKey><SessionToken>t</SessionToken>
      <Expiration>2033-05-18T03:33:20Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult>
      </AssumeRoleWithWebIdentityResponse>`;
      const refusal = `<ErrorResponse><Error><Code>InvalidIdentityToken</Code><Message>${SECRET}</Message></Error></ErrorResponse>`;
      let isRefused = false;
      const misdeed = () => {
        return isRefused ? { status: 400, bytes: Buffer.from(refusal) } : { status: 200, bytes: Buffer.from(body) };
      };
      await withServer({ bytes: Buffer.alloc(0), tls, misdeed }, async (server) => {
        process.env["AWS_WEB_IDENTITY_TOKEN_FILE"] = write("token", `web-${SECRET}`);
        process.env["AWS_ROLE_ARN"] = "arn:aws:iam::123456789012:role/reader";
        process.env["AWS_ENDPOINT_URL_STS"] = server.origin;
        process.env["AWS_MAX_ATTEMPTS"] = "1";
        const network = {
          ...defaultHttpOptions,
          trust: { ...defaultHttpOptions.trust, folders: [path.join(folder, "ca")] },
        };
        fs.mkdirSync(path.join(folder, "ca"));
        fs.copyFileSync(path.join(folder, "ca.pem"), path.join(folder, "ca", "ca.crt"));
        assert.deepEqual(await found(process.env, network), {
          accessKeyId: "role",
          secretAccessKey: SECRET,
          sessionToken: "t",
          expiresAtMs: Date.parse("2033-05-18T03:33:20Z"),
        });
        isRefused = true;
        await assert.rejects(found(process.env, network), (error) => {
          assert.ok(error instanceof SourceError && error.code === "SOURCE_DENIED");
          assert.match(error.message, /InvalidIdentityToken/);
          assert.ok(!inspect(error, { depth: 9 }).includes(SECRET));
          return true;
        });
      });
    },
  );
});
