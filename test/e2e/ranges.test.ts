/**
 * The whole program on a URL whose server has ranges: the same disk by every way, however often the connection breaks off, with
 * no byte fetched in vain and no file beside the disk.
 */
import assert from "node:assert/strict";
import { createHash, randomFillSync } from "node:crypto";
import fs from "node:fs";
import type { IncomingMessage } from "node:http";
import path from "node:path";
import { before, describe, it } from "node:test";
import zlib from "node:zlib";
import type { ConvertResult } from "../../cmd/convert.ts";
import { OVERLAP_LENGTH } from "../../importer/http/overlap.ts";
import { baseDisk } from "../support/base-disk.ts";
import { convertAlone } from "../support/convert-alone.ts";
import { EVERY_COMPRESSION, EVERY_FORMAT, imageIn } from "../support/every-image.ts";
import { randomNumbers } from "../support/late-access.ts";
import { withFolder, withLoopDevice } from "../support/loop-device.ts";
import { withServer } from "../support/misbehaving-server.ts";
import type { MisbehavingServer, Misdeed, ServerSettings } from "../support/misbehaving-server.ts";
import { withNginx } from "../support/nginx.ts";
import { imageOf } from "../support/qemu-images.ts";
import { withRawServer } from "../support/raw-server.ts";
import { runDecant } from "../support/run-decant.ts";
import { startDecant, until } from "../support/start-decant.ts";
import { requireLoopDevices, requireTools } from "../support/tools.ts";

const MIB = 1024 * 1024;
const CUTS = 20;

/** What of a body lies in the client until it is taken, body-reader.ts. */
const BODY_BUFFER = 256 * 1024;

/** What the kernels may hold of a connection that is given up: their largest buffers for loopback, of both ends. */
const SOCKET_BUFFERS = 12 * MIB;

/** What one range is at most that a thread asks for. */
const RANGE_LENGTH = 2 * MIB;

/** Every rejection that nobody handles ends the program. */
const STRICT = { NODE_OPTIONS: "--unhandled-rejections=strict" };

interface Cutting {
  readonly settings: Pick<ServerSettings, "misdeed">;
  /** How many places are still to come. */
  readonly left: () => number;
}

/**
 * Cuts at `CUTS` places of chance, each once.
 * @param applies to which requests
 */
function cutting(size: number, seed: number, resets: boolean, applies: (request: IncomingMessage) => boolean): Cutting {
  const random = randomNumbers(seed);
  const places = new Set(Array.from({ length: CUTS }, () => Math.floor(random() * size)));
  const misdeed = (_: number, request: IncomingMessage): Misdeed | undefined => {
    if (!applies(request)) return undefined;
    const [start = 0, last = size - 1] = (/(\d+)-(\d*)/.exec(request.headers.range ?? "")?.slice(1) ?? [])
      .filter((text) => text !== "")
      .map(Number);
    const place = Math.min(...[...places].filter((at) => at > start && at <= last));
    if (place === Infinity) return undefined;
    places.delete(place);
    return { cutAfter: place - start, resets };
  };
  return { settings: { misdeed }, left: () => places.size };
}

interface Converted {
  readonly result: ConvertResult;
  readonly server: MisbehavingServer;
}

/** Converts what a server of `settings` serves, in a process of its own, and compares the disk. */
async function converting(
  settings: ServerSettings,
  args: readonly string[],
  digest: string,
  use: (converted: Converted) => void,
): Promise<void> {
  await withFolder(async (folder) => {
    await withServer(settings, async (server) => {
      const target = path.join(folder, "disk.raw");
      const command = ["convert", "--json", ...args, `${server.origin}/disk`, target];
      const { status, stdout, stderr } = await runDecant(command, { env: STRICT });
      assert.equal(status, 0, stderr + stdout);
      assert.equal(sha256(fs.readFileSync(target)), digest, "the disk");
      use({ result: JSON.parse(stdout) as ConvertResult, server });
    });
  });
}

/** Of what is reset its first bytes may be lost as well, and then the request is made again and nothing is continued. */
function assertResumes({ resumes }: ConvertResult, resets: boolean): void {
  assert.ok(resets ? resumes > CUTS / 2 && resumes <= CUTS : resumes === CUTS, `${resumes} resumes`);
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function hasRange({ headers }: { readonly headers: IncomingMessage["headers"] }): boolean {
  return headers.range !== undefined;
}

/** No zeros to speak of, and nothing that compresses. */
function noise(length: number): Buffer {
  const piece = randomFillSync(Buffer.alloc(10 * MIB + 4096));
  return Buffer.alloc(length, piece);
}

describe("300 MB whose connection is cut at 20 places", () => {
  const size = 300_000_256; // whole sectors
  let bytes: Buffer = Buffer.alloc(0);
  let digest = "";
  before(() => {
    bytes = noise(size);
    digest = sha256(bytes);
  });

  it("in ranges: hardly a byte is asked for again", async () => {
    const { settings, left } = cutting(size, 1, false, hasRange);
    await converting({ bytes, etag: '"v1"', ...settings }, [], digest, ({ result, server }) => {
      assert.equal(left(), 0);
      assertResumes(result, false);
      assert.deepEqual([result.bytesRead, result.spilled, result.warnings], [size, false, []]);
      assert.equal(server.requests.filter((request) => !hasRange(request)).length, 1);
      assert.ok(server.served() <= size + SOCKET_BUFFERS, `${server.served() - size} bytes too many`);
      assert.ok(server.requests.length < 400, `${server.requests.length} requests`);
      assert.ok(result.maxRssBytes < 300 * MIB, `${result.maxRssBytes} bytes of memory`);
    });
  });

  it("as one stream: at most what lay in its buffer is asked for again", async () => {
    const gz = zlib.gzipSync(bytes, { level: 0 });
    const { settings, left } = cutting(gz.length, 2, false, () => true);
    const args = ["--limit-rate", "100G"]; // what is limited and compressed comes by one GET
    await converting({ bytes: gz, etag: '"v1"', ...settings }, args, digest, ({ result, server }) => {
      assert.equal(left(), 0);
      assert.equal(result.resumes, CUTS);
      assert.ok(server.served() <= gz.length + CUTS * BODY_BUFFER, `${server.served() - gz.length} bytes too many`);
      assert.equal(server.requests.length, 1 + CUTS);
      assert.ok(result.maxRssBytes < 300 * MIB, `${result.maxRssBytes} bytes of memory`);
    });
  });
});

describe("ranges that are reset at 20 places", () => {
  it("are asked for again from where the reset took the bytes away", async () => {
    const bytes = noise(48 * MIB);
    const { settings, left } = cutting(bytes.length, 4, true, hasRange);
    await converting({ bytes, etag: '"v1"', ...settings }, [], sha256(bytes), ({ result, server }) => {
      assert.equal(left(), 0);
      assertResumes(result, true);
      const lost = SOCKET_BUFFERS + CUTS * RANGE_LENGTH;
      assert.ok(server.served() <= bytes.length + lost, `${server.served() - bytes.length} bytes too many`);
    });
  });
});

describe("a stream that is cut at 20 places", { concurrency: true }, () => {
  const plain = noise(24 * MIB);
  const gz = zlib.gzipSync(plain, { level: 0 });

  for (const [what, resets, etag, lost] of [
    ["in ranges, ended", false, '"v1"', 0],
    ["in ranges, reset", true, '"v1"', RANGE_LENGTH],
    ["ended, with nothing to vouch for the file", false, undefined, OVERLAP_LENGTH],
  ] as const) {
    it(`in gzip, ${what}: at most one buffer is fetched again for each`, async () => {
      const { settings, left } = cutting(gz.length, 3, resets, etag === undefined ? () => true : hasRange);
      await converting({ bytes: gz, etag, ...settings }, [], sha256(plain), ({ result, server }) => {
        assert.equal(left(), 0);
        assertResumes(result, resets);
        assert.deepEqual([result.bytesRead, result.spilled, result.wrappers], [gz.length, false, ["gzip"]]);
        const first = etag === undefined ? 0 : SOCKET_BUFFERS; // of the first GET, which is given up
        assert.ok(server.served() <= gz.length + first + CUTS * lost, `${server.served() - gz.length} bytes too many`);
      });
    });
  }
});

describe("every format from a URL", { skip: requireTools("qemu-img", "xz", "zstd") }, () => {
  /** Large enough for ranges and for threads, in every format. */
  const large = baseDisk(24 * MIB);
  noise(4 * MIB).copy(large, 2 * MIB);
  noise(5 * MIB).copy(large, 12 * MIB);
  const small = baseDisk(4 * MIB);

  for (const row of EVERY_FORMAT) {
    const { name, format } = row;

    it(`${name}, bare: in ranges, with no file but the disk`, async () => {
      const { image, raw } = imageIn(row, large);
      await convertFromServer([], image, raw, ({ result, server }) => {
        const [first, ...others] = server.requests;
        assert.equal(first?.headers.range, undefined);
        assert.ok(others.length > 4 && others.every(hasRange), `${others.length} more requests`);
        assert.deepEqual([result.format, result.wrappers, result.resumes], [format, [], 0]);
        assert.ok(server.served() < image.length + SOCKET_BUFFERS);
      });
    });

    it(`${name}, compressed: in one GET, with no file but the disk`, async () => {
      const { image, raw } = imageIn(row, small);
      for (const compress of Object.values(EVERY_COMPRESSION)) {
        await convertFromServer(["--threads", "1"], compress(image), raw, ({ result, server }) => {
          assert.equal(server.requests.length, 1);
          assert.equal(result.wrappers.length, 1);
        });
      }
    });
  }

  it("nginx is asked for ranges too", { skip: requireTools("nginx") }, async () => {
    await withFolder(async (folder) => {
      const image = imageOf(large, "qcow2");
      fs.writeFileSync(path.join(folder, "disk.qcow2"), image);
      await withNginx(folder, {}, async ({ port, log }) => {
        const target = path.join(folder, "disk.raw");
        const url = `http://127.0.0.1:${port}/disk.qcow2`;
        const { status, stderr } = await runDecant(["convert", "--json", url, target], { env: STRICT });
        assert.equal(status, 0, stderr);
        assert.ok(fs.readFileSync(target).equals(large));
        await until(() => log().length > 5);
        const ranged = log().filter((line) => line.includes("bytes="));
        assert.ok(
          ranged.length > 4 && ranged.every((line) => line.startsWith("GET /disk.qcow2 206 ")),
          log().join("\n"),
        );
      });
    });
  });
});

describe("nginx that lets an address have few connections", { skip: requireTools("nginx") }, () => {
  for (const most of [4, 1]) {
    it(`${most} at once: it is asked for less, and the disk is there`, async () => {
      await withFolder(async (folder) => {
        const disk = randomFillSync(Buffer.alloc(24 * MIB));
        fs.writeFileSync(path.join(folder, "disk.qcow2"), imageOf(disk, "qcow2"));
        const directives = `limit_conn all ${most}; limit_rate 4m; limit_rate_after 256k;`;
        const zone = "limit_conn_zone $binary_remote_addr zone=all:1m;";
        await withNginx(folder, { directives, zone }, async ({ port, log }) => {
          const target = path.join(folder, "disk.raw");
          const url = `http://127.0.0.1:${port}/disk.qcow2`;
          const { status, stderr } = await runDecant(["convert", "--json", url, target], { env: STRICT });
          assert.equal(status, 0, stderr);
          assert.ok(fs.readFileSync(target).equals(disk));
          const refused = log().filter((line) => line.includes(" 503 ")).length;
          assert.ok(refused > 0, "the limit was never reached");
          assert.ok(refused < 60, `refused ${refused} times`);
        });
      });
    });
  }
});

/** From a server that has ranges, with no file beside the disk. */
async function convertFromServer(
  args: readonly string[],
  image: Buffer,
  expected: Buffer,
  use: (converted: Converted) => void,
): Promise<void> {
  await withServer({ bytes: image, etag: '"v1"' }, async (server) => {
    use({ result: await convertAlone([...args, `${server.origin}/image`], expected), server });
  });
}

describe("a server that is silent", () => {
  const bytes = baseDisk(12 * MIB);

  it("before it answers: the first signal ends the program", async () => {
    await withFolder(async (folder) => {
      await withRawServer({ answer: () => undefined }, async (server) => {
        const decant = startDecant(["convert", `${server.origin}/disk`, "disk.raw"], { cwd: folder, env: STRICT });
        await until(() => server.requests.length === 1);
        decant.child.kill("SIGINT");
        const { status, stderr } = await decant.ended;
        assert.deepEqual([status, stderr], [130, "decant: interrupted [INTERRUPTED]\n"]);
        assert.deepEqual(fs.readdirSync(folder), []);
      });
    });
  });

  for (const threads of ["1", "2"]) {
    it(`within its ranges: the first signal ends the program of ${threads} thread(s)`, async () => {
      const misdeed = (number: number): Misdeed | undefined => (number > 4 ? { stallAfter: 1000 } : undefined);
      await withFolder(async (folder) => {
        await withServer({ bytes, etag: '"v1"', misdeed }, async (server) => {
          const args = ["convert", "--threads", threads, `${server.origin}/disk`, "disk.raw"];
          const decant = startDecant(args, { cwd: folder, env: STRICT });
          await until(() => server.requests.length >= 5);
          decant.child.kill("SIGTERM");
          const { status, stderr } = await decant.ended;
          assert.deepEqual([status, stderr], [130, "decant: interrupted [INTERRUPTED]\n"]);
          assert.deepEqual(fs.readdirSync(folder), []);
        });
      });
    });
  }

  it("is given up after the time that was asked for, and the rest comes by another connection", async () => {
    const misdeed = (number: number): Misdeed | undefined => (number === 4 ? { stallAfter: 1000 } : undefined);
    await converting({ bytes, etag: '"v1"', misdeed }, ["--stall-timeout", "1"], sha256(bytes), ({ result }) => {
      assert.ok(result.resumes >= 1);
    });
  });
});

describe("--assume-zero", { skip: requireLoopDevices() }, () => {
  it("is believed of the device as it was, not as an attempt has left it", async () => {
    const old = noise(8 * MIB);
    const next = baseDisk(8 * MIB);
    const [oldGz, nextGz] = [zlib.gzipSync(old, { level: 0 }), zlib.gzipSync(next, { level: 0 })];
    await withLoopDevice({ size: 8 * MIB, fill: "zeros" }, async (device, backing) => {
      const misdeed = (number: number): Misdeed => {
        return number === 1 ? { bytes: oldGz, cutAfter: 6 * MIB } : { bytes: nextGz, headers: { etag: '"v2"' } };
      };
      await withServer({ bytes: oldGz, etag: '"v1"', misdeed }, async (server) => {
        const { status, stdout } = await runDecant([
          "convert",
          "--json",
          "--assume-zero",
          `${server.origin}/disk`,
          device,
        ]);
        assert.equal(status, 0, stdout);
        const { warnings } = JSON.parse(stdout) as ConvertResult;
        assert.deepEqual(
          warnings.map(({ code }) => code),
          ["SOURCE_RESTARTED"],
        );
      });
      assert.ok(fs.readFileSync(backing).equals(next));
    });
  });
});
