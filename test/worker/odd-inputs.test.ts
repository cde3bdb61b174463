/**
 * What nobody listed: volumes, files and addresses as a newcomer may have them. Each run ends in one sentence that says what
 * to do, or in a disk; none in a stack trace.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { describe, it } from "node:test";
import zlib from "node:zlib";
import { makeAuthority } from "../support/certificates.ts";
import { sampleBytes } from "../support/images.ts";
import { withServer } from "../support/misbehaving-server.ts";
import type { MisbehavingServer, Misdeed, ServerSettings } from "../support/misbehaving-server.ts";
import { withRawServer, write } from "../support/raw-server.ts";
import { withTemporaryFolder } from "../support/temporary-folder.ts";
import { requireTools } from "../support/tools.ts";
import { runWorker, workerPlace } from "../support/worker.ts";
import type { WorkerPlace, WorkerResult } from "../support/worker.ts";

const image = sampleBytes("qcow2/zlib.qcow2");
const imageDisk = sampleBytes("raw/patterned.raw");
const COMPLETE = '{"scratchSpaceRequired":false,"preallocationApplied":false,"message":"Import Complete"}';

type Env = Readonly<Record<string, string>>;

interface Odd {
  readonly server?: Partial<ServerSettings>;
  readonly prepare?: (place: WorkerPlace) => void;
  readonly env?: (server: MisbehavingServer, place: WorkerPlace) => Env;
}

async function withResult(
  { server: settings, prepare, env }: Odd,
  check: (result: WorkerResult, place: WorkerPlace, server: MisbehavingServer) => void,
): Promise<void> {
  await withTemporaryFolder(async (folder) => {
    const place = workerPlace(folder);
    prepare?.(place);
    await withServer({ bytes: image, etag: '"v1"', ...settings }, async (server) => {
      const source = { IMPORTER_SOURCE: "http", IMPORTER_ENDPOINT: `${server.origin}/disk` };
      const result = await runWorker(place, { env: { HOME: folder, ...source, ...env?.(server, place) } });
      assert.doesNotMatch(result.log, /"stack"|INTERNAL/);
      check(result, place, server);
    });
  });
}

async function succeeds(odd: Odd, expected: Buffer = imageDisk): Promise<readonly string[]> {
  let asked: readonly string[] = [];
  await withResult(odd, ({ status, message, log }, place, { requests }) => {
    assert.deepEqual([status, message], [0, COMPLETE], log);
    const disk = fs.readFileSync(path.join(place.data, "disk.img"));
    assert.ok(disk.subarray(0, expected.length).equals(expected), "the disk is another");
    asked = requests.map(({ path: name }) => name);
  });
  return asked;
}

async function fails(odd: Odd, text: RegExp): Promise<void> {
  await withResult(odd, ({ status, message, log }) => {
    assert.equal(status, 1, log);
    assert.match(message ?? "", text);
    assert.doesNotMatch(log + (message ?? ""), /hunter2/);
  });
}

describe("a volume", { concurrency: 2 }, () => {
  it("where disk.img is a folder is refused before anything is written", async () => {
    const prepare = ({ data }: WorkerPlace): void => fs.mkdirSync(path.join(data, "disk.img"));
    await fails(
      { prepare },
      /disk\.img is a folder, and the disk is to have its name\. Remove it\. \[TARGET_DENIED\]$/,
    );
  });

  it("where disk.img is a link loses the link, not the file that it leads to", async () => {
    const prepare = ({ data, folder }: WorkerPlace): void => {
      fs.writeFileSync(path.join(folder, "victim"), "precious");
      fs.symlinkSync("../victim", path.join(data, "disk.img"));
    };
    await withResult({ prepare }, ({ status, log }, { data, folder }) => {
      assert.equal(status, 0, log);
      assert.ok(fs.lstatSync(path.join(data, "disk.img")).isFile());
      assert.equal(fs.readFileSync(path.join(folder, "victim"), "utf8"), "precious");
    });
  });

  it("with something else under the name of a partial disk is refused", async () => {
    for (const make of [
      ({ data }: WorkerPlace): void => fs.mkdirSync(path.join(data, ".disk.img.decant-partial")),
      ({ data }: WorkerPlace): void => fs.symlinkSync("/etc/hostname", path.join(data, ".disk.img.decant-partial")),
    ]) {
      await fails({ prepare: make }, /decant-partial is in the way, .*\. Remove it\. \[TARGET_DENIED\]$/);
    }
  });

  it("that is not there is told to the log alone, and one that is a file to whoever looks at the pod", async () => {
    await withResult({ prepare: ({ data }) => fs.rmdirSync(data) }, ({ status, message, log }) => {
      assert.deepEqual([status, message], [1, undefined]);
      assert.match(log, /cannot look at the space of [^"]*data/);
    });
    const prepare = ({ data }: WorkerPlace): void => {
      fs.rmdirSync(data);
      fs.writeFileSync(data, "");
    };
    await fails({ prepare }, /target file: cannot create [^:]*disk\.img \(ENOTDIR\)/);
  });
});

describe("a file of the pod's", { concurrency: 2 }, () => {
  it("that cannot be made or written is told to the log in a sentence", async () => {
    const env = (): Env => ({ IMPORTER_DONE_FILE: "/nowhere/done" });
    await withResult({ env }, ({ status, log }) => {
      assert.equal(status, 0);
      assert.match(log, /"error":"cannot make \/nowhere\/done/);
    });
    await withResult({ env: () => ({ DECANT_TERMINATION_LOG: "/" }) }, ({ status, log }) => {
      assert.equal(status, 1);
      assert.match(log, /"error":"cannot write \/ /);
    });
  });

  it("that says ready is no folder", async () => {
    const env = (_: MisbehavingServer, { folder }: WorkerPlace): Env => ({ IMPORTER_READY_FILE: folder });
    await fails({ env }, / is no file \[SOURCE_UNAVAILABLE\]$/);
  });
});

describe("an address", { concurrency: 2 }, () => {
  it("may have blanks, letters of any alphabet, a fragment, or no path", async () => {
    for (const [name, asked] of [
      ["/my disk ü.qcow2", "/my%20disk%20%C3%BC.qcow2"],
      ["/disk#part", "/disk"],
      ["", "/"],
    ] as const) {
      const paths = await succeeds({ env: ({ origin }) => ({ IMPORTER_ENDPOINT: origin + name }) });
      assert.equal(paths[0], asked);
    }
  });

  it("may be one of IPv6", async () => {
    const head = `HTTP/1.1 200 OK\r\nContent-Length: ${image.length}\r\nConnection: close\r\n\r\n`;
    const answer = async (socket: Parameters<typeof write>[0]): Promise<void> => {
      await write(socket, head);
      await write(socket, image);
      socket.end();
    };
    await withRawServer({ answer, host: "::1" }, async ({ origin }) => {
      await succeeds({ env: () => ({ IMPORTER_ENDPOINT: `${origin}/disk` }) });
    });
  });

  it("of another kind is refused", async () => {
    for (const [source, endpoint, text] of [
      ["http", "file:///etc/passwd", /file:\/\/\/etc\/passwd is neither an http nor an https URL \[USAGE\]$/],
      [
        "s3",
        "https://host/bucket/?key=hunter2",
        /host\/bucket names no object: a bucket and a key are needed \[USAGE\]$/,
      ],
      ["gcs", "https://host/", /names no object/],
      ["registry", "docker://host/Fedora:41", /"Fedora" is no part of a repository's name \(lower case only\)/],
      ["registry", "quay.io/fedora:41", /Invalid image name "quay\.io\/fedora:41", unknown transport/],
    ] as const) {
      await fails({ env: () => ({ IMPORTER_SOURCE: source, IMPORTER_ENDPOINT: endpoint }) }, text);
    }
  });

  it("behind a proxy that is not there is not blamed for it", async () => {
    // Not a port that is free just now: a proxy of another test may get it.
    const proxy = "http://me:hunter2@127.0.0.1:1";
    const dead = { http_proxy: proxy, https_proxy: proxy, IMPORTER_ENDPOINT: "http://images.test/disk" };
    await fails(
      { env: () => dead },
      /http:\/\/images\.test\/disk through the proxy 127\.0\.0\.1:\d+: connect ECONNREFUSED/,
    );
    const unknown = { https_proxy: "http://proxy.invalid:3128", IMPORTER_ENDPOINT: "https://images.test/disk" };
    await fails({ env: () => unknown }, /through the proxy proxy\.invalid:3128: getaddrinfo ENOTFOUND proxy\.invalid/);
  });
});

describe("an answer", { concurrency: 2 }, () => {
  it("may be of 511 bytes, or packed twice, or with a long header", async () => {
    const short = imageDisk.subarray(0, 511);
    await succeeds({ server: { bytes: short } }, Buffer.concat([short, Buffer.alloc(1)]));
    await succeeds({ server: { bytes: zlib.gzipSync(zlib.gzipSync(image)) } });
    await succeeds({ server: { misdeed: () => ({ headers: { "x-long": "x".repeat(12_000) } }) } });
  });

  it("of nothing, packed or not, is no disk", async () => {
    for (const bytes of [Buffer.alloc(0), zlib.gzipSync(Buffer.alloc(0))]) {
      await fails({ server: { bytes } }, /could not process image header: .* is empty\. .* \[SOURCE_TRUNCATED\]$/);
    }
  });

  it("that leads to another server takes neither password nor headers there", async () => {
    await withServer({ bytes: image }, async (other) => {
      const misdeed = (): Misdeed => ({ status: 302, headers: { location: `${other.origin}/disk` } });
      const env = (): Env => ({
        IMPORTER_ACCESS_KEY_ID: "me",
        IMPORTER_SECRET_KEY: "hunter2",
        IMPORTER_EXTRA_HEADER_0: "X-Token: hunter3",
      });
      await withResult({ server: { misdeed }, env }, ({ status, log }, _, { requests }) => {
        assert.equal(status, 0, log);
        const basic = `Basic ${Buffer.from("me:hunter2").toString("base64")}`;
        assert.deepEqual([requests[0]?.headers.authorization, requests[0]?.headers["x-token"]], [basic, "hunter3"]);
        assert.ok(other.requests.length > 0);
        assert.doesNotMatch(JSON.stringify(other.requests), /authorization|x-token|hunter/i);
      });
    });
  });

  it("with a header without end is refused", async () => {
    const misdeed = () => ({ headers: { "x-long": "x".repeat(200_000) } });
    await fails({ server: { misdeed } }, /Parse Error: Header overflow \[SOURCE_UNAVAILABLE\]$/);
  });

  it("that leads to a file, to nothing, or to itself is refused", async () => {
    for (const [location, text] of [
      ["file:///etc/passwd", /redirects to something that is no http or https URL/],
      ["", /redirects in a circle/],
      ["/disk?again=hunter2", /redirects (in a circle|more than 10 times)/],
    ] as const) {
      await fails({ server: { misdeed: () => ({ status: 302, headers: { location } }) } }, text);
    }
  });

  it(
    "that leads out of https is refused, unless a digest vouches for the bytes",
    { skip: requireTools("openssl") },
    async () => {
      await withTemporaryFolder(async (keys) => {
        const tls = makeAuthority(keys).issue("IP:127.0.0.1");
        await withServer({ bytes: image }, async (plain) => {
          const misdeed = () => ({ status: 302, headers: { location: `${plain.origin}/disk` } });
          const env = (checksum: string) => (): Env => ({ INSECURE_TLS: "true", IMPORTER_CHECKSUM: checksum });
          await fails(
            { server: { tls, misdeed }, env: env("") },
            /redirects from https to .*, which is not encrypted.* \[SOURCE_TLS\]$/,
          );
          const hex = createHash("sha256").update(image).digest("hex");
          await succeeds({ server: { tls, misdeed }, env: env(`sha256:${hex}`) });
        });
      });
    },
  );
});
