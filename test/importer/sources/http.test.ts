import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import { FormatError } from "../../../formats/errors.ts";
import { SourceError, UsageError } from "../../../importer/errors.ts";
import type { HttpOptions } from "../../../importer/http/http-options.ts";
import { RangeReader } from "../../../importer/http/range-reader.ts";
import { openHttp } from "../../../importer/sources/http.ts";
import type { HttpSource } from "../../../importer/sources/http.ts";
import { baseDisk } from "../../support/base-disk.ts";
import { makeAuthority } from "../../support/certificates.ts";
import { readAll, withClient } from "../../support/http-client.ts";
import { withServer } from "../../support/misbehaving-server.ts";
import type { ServerSettings } from "../../support/misbehaving-server.ts";
import { withNginx } from "../../support/nginx.ts";
import { sourceFacts } from "../../support/source-facts.ts";
import { withTemporaryFolder } from "../../support/temporary-folder.ts";
import { requireTools } from "../../support/tools.ts";

const BYTES = baseDisk(700_001);
const DISK = { allowsPages: false };

async function withSource<T>(settings: ServerSettings, use: (source: HttpSource) => Promise<T>): Promise<T> {
  return await withServer(settings, async (server) => {
    return await withClient({}, async (client) => {
      const source = await openHttp(`${server.origin}/disk.raw?sig=secret`.replace("//", "//me:secret@"), client, DISK);
      try {
        return await use(source);
      } finally {
        source.close();
      }
    });
  });
}

describe("source: http", () => {
  for (const length of [0, 1, 4096, 65_536, 700_001]) {
    it(`gives ${length} bytes from the first to the last`, async () => {
      await withSource({ bytes: BYTES.subarray(0, length) }, async (source) => {
        const facts = await sourceFacts(source);
        assert.deepEqual(
          [facts.length, facts.size, facts.path, facts.atRandom, facts.afterEnd],
          [length, length, null, null, 0],
        );
        assert.match(facts.name, /^http:\/\/127\.0\.0\.1:\d+\/disk\.raw$/);
      });
    });
  }

  it("survives cuts without a word, and counts them (N07)", async () => {
    await withSource({ bytes: BYTES, etag: '"one"', misdeed: () => ({ cutAfter: 150_000 }) }, async (source) => {
      assert.ok((await readAll(source.stream())).equals(BYTES));
      assert.equal(source.resumes?.(), 4);
    });
  });

  it("offers ranges only where something vouches for the bytes and the length is known", async () => {
    const offers = async (settings: Omit<ServerSettings, "bytes">) =>
      await withSource(
        { bytes: BYTES, ...settings },
        async (source) => await Promise.resolve(source.ranges !== undefined),
      );
    assert.equal(await offers({ etag: '"one"' }), true);
    assert.equal(await offers({ etag: '"one"', misdeed: () => ({ headers: { "accept-ranges": undefined } }) }), true);
    assert.equal(await offers({ etag: '"one"', misdeed: () => ({ headers: { "accept-ranges": "none" } }) }), false);
    assert.equal(await offers({ etag: 'W/"one"' }), false);
    assert.equal(await offers({ lastModified: "Wed, 21 Oct 2015 07:28:00 GMT" }), true);
    assert.equal(await offers({ lastModified: new Date().toUTCString() }), false);
    assert.equal(await offers({ etag: '"one"', misdeed: () => ({ framing: "chunked" }) }), false);
  });

  it("refuses a web page with status 200 (N10), whatever its type is said to be", async () => {
    const page = Buffer.from("\n<!DOCTYPE html>\n<html><body>Please log in</body></html>");
    for (const type of ["text/html", "application/octet-stream"]) {
      await assert.rejects(
        withSource(
          { bytes: page, misdeed: () => ({ headers: { "content-type": type } }) },
          async () => await Promise.resolve(),
        ),
        (error) =>
          error instanceof FormatError &&
          error.code === "FORMAT_UNRECOGNISED" &&
          /disk\.raw is a web page/.test(error.message),
      );
    }
    await withSource(
      { bytes: BYTES, misdeed: () => ({ headers: { "content-type": "text/html" } }) },
      async (source) => {
        assert.equal(source.contentType, "text/html");
        assert.ok((await readAll(source.stream())).equals(BYTES), "a wrong type alone does not matter");
      },
    );
    await withServer({ bytes: page }, async (server) => {
      await withClient({}, async (client) => {
        const source = await openHttp(`${server.origin}/page`, client, { allowsPages: true });
        assert.ok((await readAll(source.stream())).equals(page));
        source.close();
      });
    });
  });

  it("refuses what is no URL of its kind without showing it", async () => {
    for (const url of ["http://me:secret@[bad", "ftp://me:secret@host/disk"]) {
      await withClient({}, async (client) => {
        await assert.rejects(
          openHttp(url, client, DISK),
          (error) => error instanceof UsageError && !error.message.includes("secret"),
        );
      });
    }
  });
});

describe("source: http from nginx", { skip: requireTools("nginx", "openssl") }, () => {
  const old = new Date("2020-01-01");

  async function served<T>(
    server: { readonly directives?: string; readonly listen?: string; readonly url: (port: number) => string },
    options: Partial<HttpOptions>,
    use: (source: HttpSource, log: () => string[], reader: () => RangeReader) => Promise<T>,
    prepare: (folder: string) => void = () => undefined,
  ): Promise<T> {
    return await withTemporaryFolder(async (folder) => {
      fs.writeFileSync(path.join(folder, "disk.raw"), BYTES);
      fs.utimesSync(path.join(folder, "disk.raw"), old, old);
      prepare(folder);
      const directives = (server.directives ?? "").replaceAll("FOLDER", folder);
      return await withNginx(folder, { ...server, directives }, async (nginx) => {
        const trust = { folders: [path.join(folder, "trusted")], insecure: false };
        return await withClient({ trust, ...options }, async (client) => {
          const source = await openHttp(server.url(nginx.port), client, DISK);
          const reader = () => {
            assert.ok(source.ranges !== undefined);
            return new RangeReader(client, structuredClone(source.ranges.spec));
          };
          try {
            return await use(source, nginx.log, reader);
          } finally {
            source.close();
          }
        });
      });
    });
  }

  const plain = { url: (port: number) => `http://127.0.0.1:${port}/disk.raw` };

  it("streams, and reads ranges beside the stream", async () => {
    await served(plain, {}, async (source, log, reader) => {
      assert.equal(source.size, BYTES.length);
      assert.ok(BYTES.subarray(400_000, 500_000).equals(await reader().readRange(400_000, 100_000)));
      assert.ok((await readAll(source.stream())).equals(BYTES));
      assert.deepEqual(log().sort(), ["GET /disk.raw 200 -", "GET /disk.raw 206 bytes=400000-499999"]);
    });
  });

  it("takes its time with a slow server (N09)", async () => {
    const directives = "limit_rate 1m;";
    await served({ ...plain, directives }, { stallMs: 1500 }, async (source) => {
      assert.ok((await readAll(source.stream())).equals(BYTES));
      assert.equal(source.resumes?.(), 0);
    });
  });

  it("finds out that nginx serves no ranges", async () => {
    await served({ ...plain, directives: "max_ranges 0;" }, {}, async (source, _, reader) => {
      assert.ok((await readAll(source.stream())).equals(BYTES));
      if (source.ranges === undefined) return;
      await assert.rejects(
        reader().readRange(5, 5),
        (error) => error instanceof SourceError && error.code === "SOURCE_TRUNCATED",
      );
    });
  });

  it("gives user and password", async () => {
    const directives = 'auth_basic "images"; auth_basic_user_file FOLDER/passwords;';
    const prepare = (folder: string) => {
      const hash = execFileSync("openssl", ["passwd", "-apr1", "p:w"], { encoding: "utf8" });
      fs.writeFileSync(path.join(folder, "passwords"), `me:${hash}`);
    };
    const use = async (source: HttpSource) => assert.ok((await readAll(source.stream())).equals(BYTES));
    await served({ ...plain, directives }, { auth: { kind: "basic", user: "me", password: "p:w" } }, use, prepare);
    await assert.rejects(
      served({ ...plain, directives }, { auth: { kind: "basic", user: "me", password: "wrong" } }, use, prepare),
      (error) => error instanceof SourceError && error.code === "SOURCE_DENIED",
    );
  });

  it("believes a private authority", async () => {
    const prepare = (folder: string) => {
      const authority = makeAuthority(folder);
      const { key, cert } = authority.issue("DNS:localhost");
      fs.mkdirSync(path.join(folder, "trusted"));
      fs.writeFileSync(path.join(folder, "trusted", "bundle"), `${authority.certificate}\n`);
      fs.writeFileSync(path.join(folder, "tls.key"), key);
      fs.writeFileSync(path.join(folder, "tls.crt"), cert);
    };
    const directives = "ssl_certificate FOLDER/tls.crt; ssl_certificate_key FOLDER/tls.key;";
    const url = (port: number) => `https://localhost:${port}/disk.raw`;
    await served(
      { directives, listen: "ssl", url },
      {},
      async (source, _, reader) => {
        assert.ok(BYTES.subarray(1, 1001).equals(await reader().readRange(1, 1000)));
        assert.ok((await readAll(source.stream())).equals(BYTES));
      },
      prepare,
    );
  });
});
