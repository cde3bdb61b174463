/**
 * Faults of reading over HTTP that users of image importers have reported, each with its input: CDI is
 * kubevirt/containerized-data-importer, HV harvester/harvester, LH longhorn/longhorn.
 */
import assert from "node:assert/strict";
import fs from "node:fs";
import type { IncomingMessage } from "node:http";
import path from "node:path";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import type { ConvertResult } from "../../cmd/convert.ts";
import { baseDisk } from "../support/base-disk.ts";
import { makeAuthority } from "../support/certificates.ts";
import { withServer } from "../support/misbehaving-server.ts";
import type { Misdeed } from "../support/misbehaving-server.ts";
import { tlsDirectives, withNginx } from "../support/nginx.ts";
import { imageOf } from "../support/qemu-images.ts";
import { runDecant } from "../support/run-decant.ts";
import type { RunResult } from "../support/run-decant.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { requireTools } from "../support/tools.ts";

const MIB = 1024 * 1024;
const disk = baseDisk(4 * MIB);

interface Poured extends RunResult {
  readonly result: ConvertResult | undefined;
  readonly disk: Buffer | undefined;
}

/** Converts to a file, and looks at what is there afterwards: the disk, or nothing. */
async function pour(
  url: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<Poured> {
  return await withTemporaryFolder(async (folder) => {
    const target = path.join(folder, "disk.raw");
    const run = await runDecant(["convert", "--json", ...args, url, target], { env: { HOME: folder, ...env } });
    assert.deepEqual(fs.readdirSync(folder), run.status === 0 ? ["disk.raw"] : []);
    if (run.status !== 0) return { ...run, result: undefined, disk: undefined };
    return { ...run, result: JSON.parse(run.stdout) as ConvertResult, disk: fs.readFileSync(target) };
  });
}

function assertSame({ status, stdout, disk: poured }: Poured): void {
  assert.equal(status, 0, stdout);
  assert.ok(poured?.equals(disk));
}

function assertFails(run: RunResult, status: number, code: string, words: RegExp): void {
  const { error } = JSON.parse(run.stdout) as { error: { code: string; message: string } };
  assert.deepEqual([run.status, error.code], [status, code], error.message);
  assert.match(error.message, words);
}

describe("reported cases of HTTP", { skip: requireTools("nginx", "openssl", "qemu-img"), concurrency: 4 }, () => {
  it("N01 (CDI#2737, CDI#1122): HEAD is forbidden, and nobody asks for it", async () => {
    const misdeed = (_: number, { method }: IncomingMessage): Misdeed | undefined =>
      method === "HEAD" ? { status: 403 } : undefined;
    await withServer({ bytes: imageOf(disk, "qcow2"), etag: '"v1"', misdeed }, async (server) => {
      assertSame(await pour(`${server.origin}/disk.qcow2?X-Amz-Signature=abc`));
      assert.ok(server.requests.every(({ method, path: asked }) => method === "GET" && asked.endsWith("=abc")));
    });
  });

  it("N02 (CDI#1073, HV#9247): a server without ranges is read once, from its first byte to its last", async () => {
    await withTemporaryFolder(async (folder) => {
      fs.writeFileSync(path.join(folder, "disk.qcow2"), imageOf(disk, "qcow2"));
      await withNginx(folder, { directives: "max_ranges 0;" }, async ({ port, log }) => {
        assertSame(await pour(`http://127.0.0.1:${port}/disk.qcow2`));
        assert.ok(
          log().every((line) => line.startsWith("GET /disk.qcow2 200 ")),
          log().join("\n"),
        );
        assert.ok(log().length <= 2, "once as a stream, and once to ask for a range");
      });
    });
  });

  it("N04 (CDI#2809, CDI#1981): a redirect is followed once, not for every range", async () => {
    const misdeed = (_: number, { url }: IncomingMessage): Misdeed | undefined =>
      url === "/latest" ? { status: 302, headers: { location: "/disk.raw" } } : undefined;
    await withServer({ bytes: disk, etag: '"v1"', misdeed }, async (server) => {
      assertSame(await pour(`${server.origin}/latest`));
      const asked = server.requests.map(({ path: name }) => name);
      assert.equal(asked.filter((name) => name === "/latest").length, 1);
      assert.ok(asked.length > 3, "there were ranges");
    });
  });

  it("N07 (HV#2535, LH#5307): what was cut is continued at the byte, and counted", async () => {
    const bytes = gzipSync(disk, { level: 0 });
    const misdeed = (number: number): Misdeed | undefined => (number <= 3 ? { cutAfter: 300_000 } : undefined);
    await withServer({ bytes, etag: '"v1"', misdeed }, async (server) => {
      const poured = await pour(`${server.origin}/disk.raw.gz`, ["--limit-rate", "100G"]); // by one GET
      assertSame(poured);
      assert.equal(poured.result?.resumes, 3);
      assert.deepEqual(
        server.requests.map(({ headers }) => headers.range),
        [undefined, "bytes=300000-", "bytes=600000-", "bytes=900000-"],
      );
      assert.equal(server.served(), bytes.length, "no byte twice");
    });
    // In ranges the first GET is given up, and the second one proves them.
    const inRanges = (number: number): Misdeed | undefined =>
      number >= 3 && number <= 5 ? { cutAfter: 300_000 } : undefined;
    await withServer({ bytes, etag: '"v1"', misdeed: inRanges }, async ({ origin }) => {
      const poured = await pour(`${origin}/disk.raw.gz`);
      assertSame(poured);
      assert.equal(poured.result?.resumes, 3);
    });
  });

  it("N09 (CDI#1901, CDI#2053): slow is no stall", async () => {
    await withTemporaryFolder(async (folder) => {
      fs.writeFileSync(path.join(folder, "disk.qcow2.gz"), gzipSync(imageOf(disk, "qcow2")));
      await withNginx(folder, { directives: "limit_rate 200k;" }, async ({ port, log }) => {
        const poured = await pour(`http://127.0.0.1:${port}/disk.qcow2.gz`, ["--stall-timeout", "3"]);
        assertSame(poured);
        assert.ok((poured.result?.seconds ?? 0) > 3, "longer than the limit for silence");
        assert.deepEqual([poured.result?.resumes, log().length], [0, 1]);
      });
    });
  });

  it("N10 (CDI#1502): a web page with status 200 is no disk, unless it is said to be one", async () => {
    const page = Buffer.from(`<!-- moved -->\n<html><body>${"Sign in. ".repeat(100)}</body></html>`);
    await withServer({ bytes: page }, async ({ origin }) => {
      assertFails(await pour(`${origin}/disk.img`), 3, "FORMAT_UNRECOGNISED", /is a web page, not a disk image/);
      const forced = await pour(`${origin}/disk.img`, ["--format", "raw"]);
      assert.ok(forced.disk?.subarray(0, page.length).equals(page));
    });
    const misdeed = (): Misdeed => ({ headers: { "content-type": "text/html" } });
    await withServer({ bytes: disk, misdeed }, async ({ origin }) => assertSame(await pour(`${origin}/disk.img`)));
  });

  it("N11 (whatwg/fetch#944): credentials and headers are not taken to another origin", async () => {
    await withTemporaryFolder(async (folder) => {
      const [headers, netrc] = ["headers", "netrc"].map((name) => path.join(folder, name)) as [string, string];
      fs.writeFileSync(headers, "X-Token: hunter2\n");
      fs.writeFileSync(netrc, "machine 127.0.0.1 login me password hunter3\n", { mode: 0o600 });
      await withServer({ bytes: disk, etag: '"v1"' }, async (other) => {
        const misdeed = (): Misdeed => ({ status: 302, headers: { location: `${other.origin}/disk.raw` } });
        await withServer({ bytes: disk, misdeed }, async (server) => {
          assertSame(await pour(`${server.origin}/disk`, ["--header-file", headers, "--netrc-file", netrc]));
          const basic = `Basic ${Buffer.from("me:hunter3").toString("base64")}`;
          const [asked] = server.requests;
          assert.deepEqual([asked?.headers.authorization, asked?.headers["x-token"]], [basic, "hunter2"]);
          assert.ok(other.requests.length > 0);
          assert.doesNotMatch(JSON.stringify(other.requests), /authorization|x-token|hunter/i);
        });
      });
    });
  });

  it("N13 (CDI#4166, CDI#1817): one way to believe a certificate, one not to, and the names that it has", async () => {
    await withTemporaryFolder(async (folder) => {
      const authority = makeAuthority(folder);
      const ca = path.join(folder, "ca.pem");
      const served = path.join(folder, "served");
      fs.mkdirSync(served);
      fs.writeFileSync(path.join(served, "disk.raw"), disk);
      for (const [names, refusal] of [
        [["IP:127.0.0.1"], undefined],
        [["DNS:images.example"], /the certificate is for DNS:images\.example, not for 127\.0\.0\.1/],
      ] as const) {
        const directives = tlsDirectives(folder, authority.issue(...names));
        await withNginx(served, { directives, listen: "ssl" }, async ({ port }) => {
          const url = `https://127.0.0.1:${port}/disk.raw`;
          assertFails(await pour(url), 5, "SOURCE_TLS", /was refused: .*Give the certificate of its authority/s);
          const trusted = await pour(url, ["--cacert", ca]);
          if (refusal === undefined) assertSame(trusted);
          else assertFails(trusted, 5, "SOURCE_TLS", refusal);
          assertSame(await pour(url, ["--insecure"]));
        });
      }
    });
  });

  it("N14 (CDI#3684, CDI#907): certificates in files of any name, and a word about those that are none", async () => {
    await withTemporaryFolder(async (folder) => {
      const authority = makeAuthority(folder);
      const trusted = path.join(folder, "trusted");
      fs.mkdirSync(trusted);
      fs.writeFileSync(path.join(trusted, "bundle.txt"), authority.certificate);
      fs.writeFileSync(path.join(trusted, "README"), "nothing to see");
      await withServer({ bytes: disk, etag: '"v1"', tls: authority.issue("IP:127.0.0.1") }, async ({ origin }) => {
        const poured = await pour(`${origin}/disk.raw`, ["--cacert", trusted]);
        assertSame(poured);
        assert.deepEqual(poured.result?.warnings, [
          {
            code: "CERTIFICATES_LEFT_OUT",
            message: `certificates in ${trusted}/README are left out: there is no certificate in it`,
          },
        ]);
        const missing = await pour(`${origin}/disk.raw`, ["--cacert", path.join(folder, "missing.pem")]);
        assertFails(missing, 2, "USAGE", /there is no file or folder \S+missing\.pem/);
      });
    });
  });

  it("N19 (HV#9272): user and password in a URL are used, and told to nobody", async () => {
    await withTemporaryFolder(async (folder) => {
      fs.writeFileSync(path.join(folder, "disk.raw"), disk);
      fs.writeFileSync(path.join(folder, "users"), "me:{PLAIN}hunter2\n");
      const directives = `auth_basic images; auth_basic_user_file ${folder}/users;`;
      await withNginx(folder, { directives }, async ({ port }) => {
        const right = await pour(`http://me:hunter2@127.0.0.1:${port}/disk.raw?key=hunter3`);
        assertSame(right);
        assert.equal(right.result?.source, `http://127.0.0.1:${port}/disk.raw`);
        const wrong = await pour(`http://me:hunter9@127.0.0.1:${port}/disk.raw?key=hunter3`);
        assertFails(wrong, 5, "SOURCE_DENIED", /answers 401 Unauthorized\. Check user and password/);
        assert.doesNotMatch([right, wrong].map(({ stdout, stderr }) => stdout + stderr).join(""), /hunter/);
      });
    });
  });

  it("R10 (CDI#3612): a registry in the place of a file is recognised, and named as one", async () => {
    const challenge = 'Bearer realm="https://auth.example/token",service="registry.example"';
    for (const status of [401, 403]) {
      const misdeed = (): Misdeed => ({ status, headers: status === 401 ? { "www-authenticate": challenge } : {} });
      await withServer({ bytes: disk, misdeed }, async ({ origin }) => {
        const host = origin.slice("http://".length);
        const words = new RegExp(`looks like a container registry: name the image as docker://${host}/NAME:TAG`);
        assertFails(await pour(`${origin}/v2/fedora/manifests/latest`), 5, "SOURCE_DENIED", words);
      });
    }
  });
});
