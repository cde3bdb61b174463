/**
 * Which way a source's bytes come: in place, in ranges, or as the stream of its first answer, which is not given up before
 * ranges have been proved.
 */
import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { describe, it } from "node:test";
import zlib from "node:zlib";
import type { ByteStream } from "../../formats/byte-stream.ts";
import { DEFAULT_MEMORY_LIMIT } from "../../formats/codecs/codec.ts";
import { CountedStream } from "../../importer/counted-stream.ts";
import { SourceError } from "../../importer/errors.ts";
import type { HttpOptions } from "../../importer/http/http-options.ts";
import type { RandomAccess } from "../../importer/random-access.ts";
import { newRateLimit } from "../../importer/http/rate-limit.ts";
import { openHttp } from "../../importer/sources/http.ts";
import type { Source } from "../../importer/sources/source.ts";
import { unwrapSource } from "../../importer/unwrap-source.ts";
import type { UnwrapSourceOptions } from "../../importer/unwrap-source.ts";
import type { Unwrapped } from "../../importer/unwrap.ts";
import { baseDisk } from "../support/base-disk.ts";
import { buildTar } from "../support/build-tar.ts";
import { readAll, withClient } from "../support/http-client.ts";
import { sampleBytes } from "../support/images.ts";
import { withStored } from "../support/job-places.ts";
import { withServer } from "../support/misbehaving-server.ts";
import type { MisbehavingServer, Misdeed, ServerSettings } from "../support/misbehaving-server.ts";
import { until } from "../support/start-decant.ts";

const MIB = 1024 * 1024;
const DISK = baseDisk(5 * MIB);

interface Way {
  readonly unwrapped: Unwrapped;
  readonly server: MisbehavingServer;
  /** Whether anything was put around a stream of the stored bytes. */
  readonly hasPassed: boolean;
}

type Settings = Partial<ServerSettings> & {
  readonly options?: Partial<UnwrapSourceOptions>;
  readonly http?: Partial<HttpOptions>;
};

function optionsWith(options: Partial<UnwrapSourceOptions>, passing: () => void): UnwrapSourceOptions {
  return {
    decoders: "auto",
    memoryLimit: DEFAULT_MEMORY_LIMIT,
    format: undefined,
    member: undefined,
    archives: true,
    inOrder: false,
    asOneStream: false,
    opened: () => undefined,
    passing: (stream: ByteStream) => {
      passing();
      return new CountedStream(stream);
    },
    ...options,
  };
}

async function unwrapping(settings: Settings, use: (way: Way) => Promise<void>): Promise<void> {
  const { options = {}, http = {}, ...others } = settings;
  await withServer({ bytes: DISK, etag: '"one"', ...others }, async (server) => {
    await withClient(http, async (client) => {
      const source = await openHttp(`${server.origin}/disk`, client, { allowsPages: false });
      let hasPassed = false;
      try {
        const unwrapped = await unwrapSource(
          source,
          optionsWith(options, () => (hasPassed = true)),
        );
        await use({ unwrapped, server, hasPassed });
        unwrapped.file?.close();
      } finally {
        source.close();
      }
    });
  });
}

/** The image came by its first GET, and nobody was asked for all of it again. */
async function assertOneGet({ unwrapped, server, hasPassed }: Way, expected: Buffer, ranges: number): Promise<void> {
  assert.equal(unwrapped.file, undefined);
  assert.ok(hasPassed);
  assert.ok(unwrapped.stream !== undefined);
  assert.ok((await readAll(unwrapped.stream)).equals(expected));
  const { requests } = server;
  assert.equal(requests.filter(({ headers }) => headers.range === undefined).length, 1, "one GET for all of it");
  assert.equal(requests.length, 1 + ranges);
}

/** What is done wrong with requests for a range. */
function onRanges(misdeed: Misdeed): Pick<ServerSettings, "misdeed"> {
  return { misdeed: (_, { headers }) => (headers.range === undefined ? undefined : misdeed) };
}

describe("unwrapSource", () => {
  it("proves a range before it gives up the first answer", async () => {
    let first: Socket | undefined;
    let wasOpen: boolean | undefined;
    const misdeed = (number: number, request: IncomingMessage): undefined => {
      if (number === 1) first = request.socket;
      else wasOpen ??= first?.destroyed === false;
    };
    const bytes = baseDisk(40 * MIB); // more than sockets take on the way
    await unwrapping({ bytes, misdeed }, async ({ unwrapped, server, hasPassed }) => {
      assert.equal(unwrapped.stream, undefined);
      assert.equal(wasOpen, true, "while the range was asked for");
      await until(() => first?.destroyed === true);
      assert.equal(hasPassed, false);
      const { file } = unwrapped;
      assert.ok(file !== undefined);
      assert.equal(file.size, bytes.length);
      assert.notEqual(file.spec.remote, undefined);
      const into = Buffer.alloc(100_000);
      assert.equal(await file.readAt(into, 20 * MIB), into.length);
      assert.ok(into.equals(bytes.subarray(20 * MIB, 20 * MIB + into.length)));
      assert.deepEqual([unwrapped.format.name, unwrapped.wrappers, unwrapped.head.length], ["raw", [], 64 * 1024]);
      assert.deepEqual(
        server.requests.map(({ headers }) => headers.range !== undefined),
        [false, true, true],
      );
      assert.ok(server.served() < bytes.length);
    });
  });

  it("knows a fixed VHD by its end, which a stream has not reached", async () => {
    const vhd = sampleBytes("vpc/fixed.vhd");
    const bytes = Buffer.concat([Buffer.alloc(6 * MIB, 1), vhd.subarray(-512)]);
    await unwrapping({ bytes }, async ({ unwrapped }) => {
      assert.equal(unwrapped.format.name, "vpc");
      await Promise.resolve();
    });
  });

  for (const [what, misdeed, ranges] of [
    // The kept sockets ask, and then the client that says what is wrong.
    ["ignores ranges", { ignoresRange: true }, 2],
    ["has no such range", { status: 416 }, 2],
    ["has a new file by now", { headers: { etag: '"two"' }, ignoresIfRange: true }, 2],
    ["serves all of a new file", { headers: { etag: '"two"' } }, 2],
    ["serves another range", { headers: { "content-range": `bytes 0-511/${DISK.length}` } }, 2],
    ["serves a longer file", { bytes: Buffer.alloc(6 * MIB) }, 2],
    ["answers once only (a ticket, a signed URL)", { status: 403 }, 2],
    ["has forgotten it", { status: 404 }, 2],
  ] as const) {
    it(`takes the first answer where the server ${what}`, async () => {
      await unwrapping(onRanges(misdeed), async (way) => await assertOneGet(way, DISK, ranges));
    });
  }

  for (const [what, settings, expected] of [
    ["is small", { bytes: DISK.subarray(0, 4 * MIB - 1) }, DISK.subarray(0, 4 * MIB - 1)],
    ["comes from a server whose ranges have failed", { options: { asOneStream: true } }, DISK],
    ["has nothing to vouch for it", { etag: undefined }, DISK],
    ["has a weak validator", { etag: 'W/"one"' }, DISK],
    [
      "comes from a server that says that it has no ranges",
      { misdeed: () => ({ headers: { "accept-ranges": "none" } }) },
      DISK,
    ],
    ["has no length", { misdeed: () => ({ framing: "chunked" }) }, DISK],
  ] as const satisfies readonly (readonly [string, Settings, Buffer])[]) {
    it(`asks once for an image that ${what}`, async () => {
      await unwrapping(settings, async (way) => await assertOneGet(way, expected, 0));
    });
  }

  for (const [what, bytes] of [
    ["is compressed", zlib.gzipSync(DISK, { level: 0 })],
    ["lies in an archive", buildTar([{ name: "disk.raw", content: DISK }])],
  ] as const) {
    it(`reads several ranges at once, in order, of an image that ${what}`, async () => {
      let remote: RandomAccess | undefined;
      const options = { opened: (file: RandomAccess | undefined) => (remote = file) };
      await unwrapping({ bytes: Buffer.from(bytes), options }, async ({ unwrapped, server, hasPassed }) => {
        assert.ok(hasPassed && unwrapped.file === undefined && unwrapped.stream !== undefined);
        assert.ok((await readAll(unwrapped.stream)).equals(DISK));
        const [first, ...others] = server.requests.map(({ headers }) => headers.range !== undefined);
        assert.equal(first, false);
        // One for the end, which proved them, and has the last piece in it.
        assert.deepEqual(
          others,
          Array.from({ length: 1 + Math.floor(bytes.length / MIB) }, () => true),
        );
        assert.ok(remote !== undefined);
        remote.close();
      });
    });

    it(`asks once where the rate is limited and the image ${what}`, async () => {
      const http = { rateLimit: newRateLimit(1e9) };
      await unwrapping({ bytes: Buffer.from(bytes), http }, async (way) => await assertOneGet(way, DISK, 0));
    });

    for (const [how, misdeed] of [
      ["ignores ranges", { ignoresRange: true }],
      ["answers once only", { status: 403 }],
    ] as const) {
      it(`takes the first answer where the image ${what} and the server ${how}`, async () => {
        const settings = { bytes: Buffer.from(bytes), ...onRanges(misdeed) };
        await unwrapping(settings, async (way) => await assertOneGet(way, DISK, 2));
      });
    }
  }

  it("reads several ranges at once, and in order, of what has to pass in order", async () => {
    await unwrapping({ options: { inOrder: true } }, async ({ unwrapped, server, hasPassed }) => {
      assert.ok(hasPassed && unwrapped.file === undefined && unwrapped.stream !== undefined);
      assert.ok((await readAll(unwrapped.stream)).equals(DISK));
      assert.equal(server.requests.filter(({ headers }) => headers.range === undefined).length, 1);
      assert.ok(server.requests.length > 5);
      await unwrapped.stream.close();
    });
  });

  it("asks for ranges of an image that is just long enough", async () => {
    await unwrapping({ bytes: DISK.subarray(0, 4 * MIB) }, async ({ unwrapped }) => {
      assert.notEqual(unwrapped.file, undefined);
      await Promise.resolve();
    });
  });

  it("reads a local file in place, or as one stream where it has to pass in order", async () => {
    await withStored(DISK, async (file) => {
      const source: Source = {
        name: "a file",
        path: undefined,
        size: file.size,
        file,
        stream: () => {
          const bytes = DISK;
          let at = 0;
          return {
            read(into) {
              const count = bytes.copy(into, 0, at);
              at += count;
              return count;
            },
            close: () => undefined,
          };
        },
        close: () => undefined,
      };
      let passed = 0;
      const inPlace = await unwrapSource(
        source,
        optionsWith({}, () => (passed += 1)),
      );
      assert.deepEqual([inPlace.file, inPlace.stream, passed], [file, undefined, 0]);
      const stream = await unwrapSource(
        source,
        optionsWith({ inOrder: true }, () => (passed += 1)),
      );
      assert.equal(passed, 1);
      assert.ok(stream.stream !== undefined && (await readAll(stream.stream)).equals(DISK));
    });
  });

  it("passes on why neither came", async () => {
    const misdeed = (number: number): Misdeed => (number === 1 ? { cutAfter: 10 } : { status: 404 });
    await withServer({ bytes: DISK, etag: '"one"', misdeed }, async (server) => {
      await withClient({}, async (client) => {
        await assert.rejects(
          openHttp(`${server.origin}/disk`, client, { allowsPages: false }),
          (error) => error instanceof SourceError && error.code === "SOURCE_NOT_FOUND",
        );
      });
    });
  });
});
