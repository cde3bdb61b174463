import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { inspect } from "node:util";
import { gzipSync } from "node:zlib";
import type { ByteStream } from "../../../formats/byte-stream.ts";
import { DEFAULT_MEMORY_LIMIT } from "../../../formats/codecs/codec.ts";
import { crc32c } from "../../../formats/crc32c.ts";
import { SourceError } from "../../../importer/errors.ts";
import { HttpClient } from "../../../importer/http/http-client.ts";
import { defaultHttpOptions } from "../../../importer/http/http-options.ts";
import { RangeReader } from "../../../importer/http/range-reader.ts";
import { errorText } from "../../../importer/outcome.ts";
import { openGcs } from "../../../importer/sources/gcs.ts";
import type { OpenGcsOptions } from "../../../importer/sources/gcs.ts";
import { unwrapSource } from "../../../importer/unwrap-source.ts";
import { baseDisk } from "../../support/base-disk.ts";
import { withFakeGcs } from "../../support/fake-gcs.ts";
import { goProgram } from "../../support/go-programs.ts";
import { withGoogleAccount } from "../../support/google-account.ts";
import type { GoogleAccount } from "../../support/google-account.ts";
import { readAll } from "../../support/http-client.ts";
import { withServer } from "../../support/misbehaving-server.ts";
import { withTemporaryFolder } from "../../support/temporary-folder.ts";
import { requireTools } from "../../support/tools.ts";

const BYTES = baseDisk(700_001);

// Nothing is what this machine offers: the library reads the process's own environment.
process.env["HOME"] = "/nowhere";
process.env["METADATA_SERVER_DETECTION"] = "none";
delete process.env["GOOGLE_APPLICATION_CREDENTIALS"];

function options(more: Partial<OpenGcsOptions> = {}): OpenGcsOptions {
  return { http: defaultHttpOptions, env: {}, allowsPages: false, ...more };
}

async function bytesOf(name: string, more: Partial<OpenGcsOptions> = {}): Promise<Buffer> {
  const source = await openGcs(name, options(more));
  try {
    return await readAll(source.stream());
  } finally {
    source.close();
  }
}

/** As the service writes it. */
function hashOf(bytes: Uint8Array): string {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32c(bytes));
  return `crc32c=${sum.toString("base64")},md5=1B2M2Y8AsgTpgAmY7PhCfg==`;
}

const fakeGcs = await goProgram("fake-gcs-server");

describe("source: GCS, from fake-gcs-server", { skip: fakeGcs.skip }, () => {
  it("gives all bytes, by either name, and ranges", async () => {
    await withTemporaryFolder(async (folder) => {
      const object = "with/slashes and ü+.raw";
      fs.mkdirSync(path.join(folder, "bucket", "with"), { recursive: true });
      fs.writeFileSync(path.join(folder, "bucket", object), BYTES);
      await withFakeGcs(fakeGcs.path, folder, async (endpoint) => {
        const url = `${endpoint}/bucket/with/slashes%20and%20%C3%BC+.raw`;
        assert.ok((await bytesOf(url)).equals(BYTES));
        const source = await openGcs(`gs://bucket/${object}`, options({ env: { STORAGE_EMULATOR_HOST: endpoint } }));
        assert.deepEqual([source.name, source.size], [`gs://bucket/${object}`, BYTES.length]);
        assert.match(source.headers.get("x-goog-hash") ?? "", /crc32c=/);
        assert.ok((await readAll(source.stream())).equals(BYTES));
        assert.ok(source.ranges !== undefined);
        const client = new HttpClient(source.ranges.http);
        assert.ok(BYTES.subarray(9, 109).equals(await new RangeReader(client, source.ranges.spec).readRange(9, 100)));
        client.close();
        source.close();
      });
    });
  });

  it("says that an object is absent", async () => {
    await withTemporaryFolder(async (folder) => {
      fs.mkdirSync(path.join(folder, "bucket"));
      fs.writeFileSync(path.join(folder, "bucket", "k"), "k");
      await withFakeGcs(fakeGcs.path, folder, async (endpoint) => {
        const failure = await openGcs(`${endpoint}/bucket/absent`, options()).catch((error: unknown) => error);
        assert.ok(failure instanceof SourceError && failure.code === "SOURCE_NOT_FOUND");
        assert.equal(failure.message, `there is no object ${endpoint}/bucket/absent`);
      });
    });
  });
});

describe("source: GCS", () => {
  it("fails at the end for bytes that are not those that the service tells of", async () => {
    for (const [bytes, isRight] of [
      [BYTES, true],
      [BYTES.subarray(1), false],
    ] as const) {
      const misdeed = () => ({ headers: { "x-goog-hash": hashOf(bytes) } });
      await withServer({ bytes: BYTES, etag: '"one"', misdeed }, async (server) => {
        const outcome = bytesOf(`${server.origin}/b/k`);
        if (isRight) assert.ok((await outcome).equals(BYTES));
        else await assert.rejects(outcome, (error) => error instanceof SourceError && error.code === "SOURCE_CHANGED");
      });
    }
  });

  it("fails at the end too where they come in ranges and in order", async () => {
    const large = randomBytes(5 * 1024 * 1024);
    const packed = gzipSync(large, { level: 0 });
    const unwrapping = {
      decoders: "auto",
      memoryLimit: DEFAULT_MEMORY_LIMIT,
      format: undefined,
      member: undefined,
      archives: true,
      asOneStream: false,
      opened: () => undefined,
      passing: (stream: ByteStream) => stream,
    } as const;
    for (const [bytes, told, inOrder] of [
      [packed, packed, false],
      [packed, large, false],
      [large, large, true],
      [large, packed, true],
    ] as const) {
      const misdeed = () => ({ headers: { "x-goog-hash": hashOf(told) } });
      await withServer({ bytes, etag: '"one"', misdeed }, async (server) => {
        const source = await openGcs(`${server.origin}/b/k`, options());
        const { stream } = await unwrapSource(source, { ...unwrapping, inOrder });
        assert.ok(stream !== undefined);
        if (bytes === told) assert.ok((await readAll(stream)).equals(large));
        else
          await assert.rejects(readAll(stream), (error) => {
            return error instanceof SourceError && error.code === "SOURCE_CHANGED";
          });
        assert.ok(server.requests.filter(({ headers }) => headers.range !== undefined).length > 4);
        await stream.close();
        source.close();
      });
    }
  });

  it("compares the bytes of a transfer that was cut and went on", async () => {
    const misdeed = (number: number) => ({
      headers: { "x-goog-hash": hashOf(BYTES) },
      ...(number === 1 ? { cutAfter: 300_000 } : {}),
    });
    await withServer({ bytes: BYTES, etag: '"one"', misdeed }, async (server) => {
      assert.ok((await bytesOf(`${server.origin}/b/k`)).equals(BYTES));
      assert.equal(server.requests.length, 2);
    });
  });

  it("asks for an object as it is stored, and does not compare one that was unpacked on the way", async () => {
    const packed = gzipSync(BYTES);
    const hash = { "x-goog-hash": hashOf(packed), "x-goog-stored-content-encoding": "gzip" };
    const asStored = () => ({ bytes: packed, headers: { ...hash, "content-encoding": "gzip" } });
    await withServer({ bytes: BYTES, etag: '"one"', misdeed: asStored }, async (server) => {
      assert.ok((await bytesOf(`${server.origin}/b/k`)).equals(packed));
      assert.equal(server.requests[0]?.headers["accept-encoding"], "gzip");
    });
    await withServer({ bytes: BYTES, etag: '"one"', misdeed: () => ({ headers: hash }) }, async (server) => {
      assert.ok((await bytesOf(`${server.origin}/b/k`)).equals(BYTES));
    });
  });

  it("takes no hash that is none", async () => {
    for (const hash of ["", "crc32c=", "crc32c=AAAA", "md5=AAAAAA==", "xcrc32c=AAAAAA=="]) {
      const misdeed = () => ({ headers: { "x-goog-hash": hash } });
      await withServer({ bytes: BYTES, etag: '"one"', misdeed }, async (server) => {
        assert.ok((await bytesOf(`${server.origin}/b/k`)).equals(BYTES), hash);
      });
    }
  });

  it("says why an object is denied, as anybody", async () => {
    await withServer({ bytes: BYTES, misdeed: () => ({ status: 403 }) }, async (server) => {
      const failure = await bytesOf(`${server.origin}/b/k`).catch((error: unknown) => error);
      assert.ok(failure instanceof SourceError && failure.code === "SOURCE_DENIED");
      assert.match(errorText(failure), /is denied \(403\)\. No credentials were given or found/);
    });
  });
});

describe("source: GCS, as somebody", { skip: requireTools("openssl") }, () => {
  const withAccount = async (use: (account: GoogleAccount) => Promise<void>): Promise<void> =>
    await withTemporaryFolder(async (folder) => await withGoogleAccount(folder, use));

  it("sends the service account's token, to the range as well, and another one once it is refused", async () => {
    await withAccount(async ({ file, http, asked }) => {
      const misdeed = (number: number) => (number === 2 ? { status: 401 } : undefined);
      await withServer({ bytes: BYTES, etag: '"one"', misdeed }, async (server) => {
        const source = await openGcs(`${server.origin}/b/k`, options({ credentialsFile: file, http }));
        assert.ok(source.ranges !== undefined);
        const client = new HttpClient(structuredClone(source.ranges.http));
        await new RangeReader(client, source.ranges.spec).readRange(0, 100);
        client.close();
        source.close();
        const sent = server.requests.map(({ headers }) => headers.authorization);
        assert.deepEqual(sent, ["Bearer token-1", "Bearer token-1", "Bearer token-2"]);
        assert.equal(asked(), 2);
        await bytesOf(`${server.origin}/b/k`, { env: { GOOGLE_APPLICATION_CREDENTIALS: file }, http });
        assert.equal(server.requests.at(-1)?.headers.authorization, "Bearer token-3");
      });
    });
  });

  it("shows no token where it is denied", async () => {
    await withAccount(async ({ file, http }) => {
      await withServer({ bytes: BYTES, misdeed: () => ({ status: 403 }) }, async (server) => {
        const name = `${server.origin}/b/k?token=token-1`;
        const failure = await bytesOf(name, { credentialsFile: file, http }).catch((error: unknown) => error);
        assert.ok(failure instanceof SourceError && failure.code === "SOURCE_DENIED");
        assert.ok(!inspect(failure, { depth: 10, showHidden: true }).includes("token-1"));
      });
    });
  });

  it("keeps what this machine offers for Google, and asks as anybody where that is refused", async () => {
    await withAccount(async ({ file, http }) => {
      process.env["GOOGLE_APPLICATION_CREDENTIALS"] = file;
      try {
        const misdeed = (number: number) => (number === 1 ? { status: 403 } : undefined);
        await withServer({ bytes: BYTES, etag: '"one"', misdeed }, async (server) => {
          const proxies = { ...http.proxies, http: server.origin };
          const name = "http://storage.googleapis.com/b/k";
          assert.ok((await bytesOf(name, { http: { ...http, proxies } })).equals(BYTES));
          const sent = server.requests.map(({ headers }) => headers.authorization);
          assert.deepEqual(sent, ["Bearer token-1", undefined]);
          await bytesOf(`${server.origin}/b/k`, { http });
          assert.equal(server.requests.at(-1)?.headers.authorization, undefined);
        });
      } finally {
        delete process.env["GOOGLE_APPLICATION_CREDENTIALS"];
      }
    });
  });
});
