import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readFully } from "../../../formats/byte-stream.ts";
import { Interrupted, SourceError } from "../../../importer/errors.ts";
import { mayRestart } from "../../../importer/another-attempt.ts";
import { Place } from "../../../importer/http/place.ts";
import { ResumingStream } from "../../../importer/http/resuming-stream.ts";
import { baseDisk } from "../../support/base-disk.ts";
import { readAll, withClient } from "../../support/http-client.ts";
import { withServer } from "../../support/misbehaving-server.ts";
import type { MisbehavingServer, ServerSettings } from "../../support/misbehaving-server.ts";

const BYTES = baseDisk(1_000_003);
const OTHER = Buffer.from(BYTES.map((byte) => byte ^ 0xff));
const OLD = "Wed, 21 Oct 2015 07:28:00 GMT";

interface Reading {
  readonly bytes: Buffer;
  readonly resumes: number;
  readonly size: number | undefined;
  readonly delays: readonly number[];
  readonly server: MisbehavingServer;
}

async function read(settings: Partial<ServerSettings>, stallMs = 60_000): Promise<Reading> {
  return await withServer({ bytes: BYTES, etag: '"one"', ...settings }, async (server) => {
    return await withClient({ stallMs }, async (client, delays) => {
      const stream = await ResumingStream.open(client, Place.parse(`${server.origin}/disk`));
      const bytes = await readAll(stream);
      assert.equal(await stream.read(new Uint8Array(1)), 0, "ended is ended");
      return { bytes, resumes: stream.resumes, size: stream.representation.size, delays, server };
    });
  });
}

/** Settings that cut every answer after so many bytes. */
function cutting(cutAfter: number): Pick<ServerSettings, "misdeed"> {
  return { misdeed: () => ({ cutAfter }) };
}

function isSource(code: string, restart: boolean, words: RegExp) {
  return (error: unknown): boolean => {
    assert.ok(error instanceof SourceError, String(error));
    assert.equal(error.code, code, error.message);
    assert.equal(mayRestart(error), restart);
    assert.match(error.message, words);
    return true;
  };
}

describe("ResumingStream", () => {
  it("reads a body with one request and no HEAD (N01)", async () => {
    const { bytes, resumes, size, server } = await read({
      misdeed: (_, request) => (request.method === "HEAD" ? { status: 403 } : undefined),
    });
    assert.ok(bytes.equals(BYTES));
    assert.deepEqual([resumes, size], [0, BYTES.length]);
    assert.deepEqual(
      server.requests.map((request) => [request.method, request.headers.range, request.headers["accept-encoding"]]),
      [["GET", undefined, "identity"]],
    );
  });

  it("continues at the byte where a connection was cut (N07)", async () => {
    const { bytes, resumes, server } = await read(cutting(300_000));
    assert.ok(bytes.equals(BYTES));
    assert.equal(resumes, 3);
    assert.deepEqual(
      server.requests.map((request) => request.headers.range),
      [undefined, "bytes=300000-", "bytes=600000-", "bytes=900000-"],
    );
    assert.ok(server.requests.slice(1).every((request) => request.headers["if-range"] === '"one"'));
    assert.equal(server.served(), BYTES.length, "no byte comes twice");
  });

  it("continues after a stall", async () => {
    const { bytes, resumes } = await read(
      { misdeed: (number) => (number === 1 ? { stallAfter: 70_000 } : undefined) },
      100,
    );
    assert.ok(bytes.equals(BYTES));
    assert.equal(resumes, 1);
  });

  it("never calls slow a stall (N09)", async () => {
    const { bytes, resumes } = await read({ bytes: BYTES.subarray(0, 3000), misdeed: () => ({ drip: 10 }) }, 200);
    assert.ok(bytes.equals(BYTES.subarray(0, 3000)));
    assert.equal(resumes, 0);
  });

  it("does not count a consumer's pause as a stall", async () => {
    await withServer({ bytes: BYTES, etag: '"one"' }, async (server) => {
      await withClient({ stallMs: 30 }, async (client) => {
        const stream = await ResumingStream.open(client, Place.parse(`${server.origin}/disk`));
        await new Promise((resolve) => setTimeout(resolve, 100));
        assert.ok((await readAll(stream)).equals(BYTES));
        assert.deepEqual([stream.resumes, server.requests.length], [0, 1]);
      });
    });
  });

  it("waits longer from cut to cut, and gives up when no connection brings anything", async () => {
    await assert.rejects(
      read({ misdeed: (number) => (number === 1 ? { cutAfter: 100_000 } : { cutAfter: 10 }) }),
      isSource("SOURCE_TRUNCATED", false, /broke off after 100050 of 1000003 bytes$/),
    );
    const { delays } = await read(cutting(200_000));
    assert.deepEqual(delays, [188, 188, 188, 188, 188], "a connection that brought something is none in vain");
  });

  it("asks again from the start where nothing was read yet", async () => {
    const { bytes, server } = await read({
      misdeed: (number) => (number === 1 ? { cutAfter: 0 } : { headers: { etag: '"two"' } }),
    });
    assert.ok(bytes.equals(BYTES));
    assert.deepEqual(
      server.requests.map((request) => request.headers.range),
      [undefined, undefined],
    );
  });

  for (const [what, misdeed] of [
    ["answers with all of a new file", { headers: { etag: '"two"' }, bytes: OTHER }],
    ["sends a range of a new file", { headers: { etag: '"two"' }, ignoresIfRange: true }],
    ["has a file of another length", { bytes: OTHER.subarray(0, 900_000) }],
    ["has a shorter file", { status: 416, headers: { "content-range": "bytes */500" } }],
    ["says that the condition is not met", { status: 412 }],
  ] as const) {
    it(`refuses to continue when the server ${what}`, async () => {
      await assert.rejects(
        read({ misdeed: (number) => (number === 1 ? { cutAfter: 300_000 } : misdeed) }),
        isSource("SOURCE_CHANGED", true, /changed while it was read/),
      );
    });
  }

  it("refuses another range than the one it asked for", async () => {
    for (const range of [
      "bytes 0-1000002/1000003",
      "bytes 300001-1000002/1000003",
      "items 300000-1000002/1000003",
      undefined,
    ]) {
      await assert.rejects(
        read({ misdeed: (number) => (number === 1 ? { cutAfter: 300_000 } : { headers: { "content-range": range } }) }),
        isSource("SOURCE_UNAVAILABLE", true, /another range than the one asked for/),
      );
    }
  });

  it("says that a server without ranges cannot continue (N02)", async () => {
    const cut = (number: number) => (number === 1 ? { cutAfter: 300_000 } : { ignoresRange: true });
    await assert.rejects(read({ misdeed: cut }), isSource("SOURCE_TRUNCATED", true, /its server cannot continue/));
    let requests = 0;
    await assert.rejects(
      read({
        misdeed: () => {
          requests += 1;
          return { headers: { "accept-ranges": "none" }, cutAfter: 300_000 };
        },
      }),
      isSource("SOURCE_TRUNCATED", true, /its server cannot continue/),
    );
    assert.equal(requests, 1, "who says none is not asked");
  });

  it("is vouched for by an old date, but not by a fresh one", async () => {
    const { server } = await read({ etag: undefined, lastModified: OLD, ...cutting(600_000) });
    assert.equal(server.requests[1]?.headers["if-range"], OLD);
    const fresh = await read({ etag: undefined, lastModified: new Date().toUTCString(), ...cutting(600_000) });
    assert.equal(fresh.server.requests[1]?.headers["if-range"], undefined);
    assert.equal(fresh.server.requests[1]?.headers.range, `bytes=${600_000 - 65_536}-`);
  });

  it("lets 64 KiB come again where nothing vouches for the file", async () => {
    for (const etag of [undefined, 'W/"weak"']) {
      const { bytes, resumes, server } = await read({ etag, ...cutting(300_000) });
      assert.ok(bytes.equals(BYTES));
      assert.ok(resumes >= 3);
      assert.equal(server.requests[1]?.headers.range, `bytes=${300_000 - 65_536}-`);
    }
    const early = await read({ etag: undefined, misdeed: (number) => (number === 1 ? { cutAfter: 1000 } : undefined) });
    assert.equal(early.server.requests[1]?.headers.range, "bytes=0-");
    assert.ok(early.bytes.equals(BYTES));
  });

  it("notices other bytes in what comes again, and survives a cut in it", async () => {
    await assert.rejects(
      read({ etag: undefined, misdeed: (number) => (number === 1 ? { cutAfter: 300_000 } : { bytes: OTHER }) }),
      isSource("SOURCE_CHANGED", true, /other bytes came before byte 300000/),
    );
    const cuts = [300_000, 5, 60_000];
    const { bytes } = await read({
      etag: undefined,
      misdeed: (number) => (number <= cuts.length ? { cutAfter: cuts[number - 1] ?? 0 } : undefined),
    });
    assert.ok(bytes.equals(BYTES));
  });

  it("reads bodies without a length", async () => {
    for (const framing of ["chunked", "until-closed"] as const) {
      const { bytes, size } = await read({ misdeed: () => ({ framing }) });
      assert.ok(bytes.equals(BYTES), framing);
      assert.equal(size, undefined);
    }
  });

  it("continues a chunked body that was cut, and believes its end", async () => {
    const cut = (number: number) => (number === 1 ? { framing: "chunked" as const, cutAfter: 400_000 } : undefined);
    const { bytes, resumes } = await read({ misdeed: cut });
    assert.ok(bytes.equals(BYTES));
    assert.equal(resumes, 1);
    const atEnd = await read({
      misdeed: (number) =>
        number === 1
          ? { framing: "chunked", cutAfter: BYTES.length }
          : { status: 416, headers: { "content-range": `bytes */${BYTES.length}` } },
    });
    assert.ok(atEnd.bytes.equals(BYTES), "cut where it would have ended");
  });

  it("detects a body that is shorter or longer than was said", async () => {
    await assert.rejects(
      read({
        misdeed: () => ({
          bytes: BYTES.subarray(0, 5000),
          headers: { "content-length": "6000" },
          cutAfter: 5000,
          ignoresRange: true,
        }),
      }),
      isSource("SOURCE_TRUNCATED", true, /broke off/),
    );
    const longer = (number: number) =>
      number === 1
        ? { cutAfter: 300_000 }
        : {
            bytes: Buffer.concat([BYTES, OTHER]),
            framing: "chunked" as const,
            headers: { "content-range": "bytes 300000-1000002/1000003" },
          };
    await assert.rejects(read({ misdeed: longer }), isSource("SOURCE_CHANGED", true, /more than 1000003 bytes came/));
  });

  it("gives up a waiting read when it is closed, and gives nothing afterwards", async () => {
    await withServer({ bytes: BYTES, misdeed: () => ({ stallAfter: 0 }) }, async (server) => {
      await withClient({}, async (client) => {
        const stream = await ResumingStream.open(client, Place.parse(`${server.origin}/disk`));
        const answer = stream.read(new Uint8Array(10));
        stream.close();
        await assert.rejects(async () => await answer, Interrupted);
        stream.close();
        assert.equal(await stream.read(new Uint8Array(10)), 0);
      });
    });
  });
});

describe("ResumingStream that is read for its start", () => {
  const firstLength = 100_000;

  /** The first bytes, or all of them. */
  async function readPart(settings: Partial<ServerSettings>, length = Infinity): Promise<Reading> {
    return await withServer({ bytes: BYTES, etag: '"one"', ...settings }, async (server) => {
      return await withClient({ firstLength }, async (client, delays) => {
        const stream = await ResumingStream.open(client, Place.parse(`${server.origin}/disk`));
        const head = Buffer.alloc(Math.min(length, 50_000));
        const bytes = length === Infinity ? await readAll(stream) : head.subarray(0, await readFully(stream, head));
        stream.close();
        return { bytes, resumes: stream.resumes, size: stream.representation.size, delays, server };
      });
    });
  }

  const rangesOf = ({ server }: Reading) => server.requests.map(({ headers }) => headers.range?.replace("bytes=", ""));

  it("asks for a range and learns the length of the whole", async () => {
    const reading = await readPart({}, 1000);
    assert.ok(reading.bytes.equals(BYTES.subarray(0, 1000)));
    assert.deepEqual([reading.size, reading.server.served()], [BYTES.length, firstLength]);
    assert.deepEqual(rangesOf(reading), ["0-99999"]);
  });

  it("asks for more as it is read, and takes the end of a range for no cut", async () => {
    for (const etag of ['"one"', undefined]) {
      const reading = await readPart({ etag });
      assert.ok(reading.bytes.equals(BYTES));
      assert.deepEqual([reading.resumes, reading.delays], [0, []]);
      const overlap = etag === undefined ? 65_536 : 0;
      const starts = [100_000, 200_000, 400_000, 800_000].map((start) => start - overlap);
      const ends = [199_999, 399_999, 799_999, 1_000_002];
      assert.deepEqual(rangesOf(reading), ["0-99999", ...starts.map((start, i) => `${start}-${ends[i]}`)]);
    }
  });

  it("continues after a cut in a range", async () => {
    const reading = await readPart({ misdeed: (number) => (number === 2 ? { cutAfter: 70_000 } : undefined) });
    assert.ok(reading.bytes.equals(BYTES));
    assert.deepEqual([reading.resumes, rangesOf(reading)[2]], [1, "170000-369999"]);
  });

  it("takes everything from a server without ranges, or with its own idea of them", async () => {
    const wrong = { status: 206, headers: { "content-range": "bytes 5-9/10" } };
    for (const [misdeed, requests] of [
      [{ ignoresRange: true }, 1],
      [{ status: 416 }, 2],
      [{ status: 206 }, 2],
      [wrong, 2],
      [{ headers: { "content-range": "bytes 0-99999/*" } }, 2],
    ] as const) {
      const reading = await readPart({
        misdeed: (_, request) => (request.headers.range === undefined ? undefined : misdeed),
      });
      assert.ok(reading.bytes.equals(BYTES));
      assert.equal(reading.server.requests.length, requests);
    }
  });

  it("notices that the file is another one by now", async () => {
    const misdeed = (number: number) => (number === 2 ? { headers: { etag: '"two"' } } : undefined);
    await assert.rejects(readPart({ misdeed }), isSource("SOURCE_CHANGED", true, /another file than before/));
  });
});
