import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Interrupted, SourceError } from "../../../importer/errors.ts";
import { lacksRanges } from "../../../importer/another-attempt.ts";
import type { HttpOptions } from "../../../importer/http/http-options.ts";
import { MAX_RANGE_LENGTH, RangeReader } from "../../../importer/http/range-reader.ts";
import { baseDisk } from "../../support/base-disk.ts";
import { withClient } from "../../support/http-client.ts";
import { remoteRanges } from "../../support/remote-ranges.ts";
import { withServer } from "../../support/misbehaving-server.ts";
import type { MisbehavingServer, Misdeed, ServerSettings } from "../../support/misbehaving-server.ts";

const BYTES = baseDisk(1_000_003);

type Settings = Partial<ServerSettings> & Partial<Pick<HttpOptions, "stallMs">>;

/** Runs `use` with a reader of what a server says it has. */
async function withReader<T>(
  settings: Settings,
  use: (reader: RangeReader, server: MisbehavingServer) => Promise<T>,
): Promise<T> {
  const { stallMs = 60_000, ...others } = settings;
  return await withServer({ bytes: BYTES, etag: '"one"', ...others }, async (server) => {
    return await withClient({ stallMs }, async (client) => {
      const { spec } = remoteRanges(`${server.origin}/disk`, BYTES.length);
      return await use(new RangeReader(client, spec), server);
    });
  });
}

/** The first answers go wrong, the next is right. */
function first(...misdeeds: readonly Misdeed[]): Pick<ServerSettings, "misdeed"> {
  return { misdeed: (number) => misdeeds[number - 1] };
}

function fails(code: string, unusable: boolean) {
  return (error: unknown): boolean => {
    assert.ok(error instanceof SourceError, String(error));
    assert.deepEqual([error.code, lacksRanges(error)], [code, unusable], error.message);
    return true;
  };
}

describe("RangeReader", () => {
  it("reads ranges, one after the other over one connection", async () => {
    await withReader({}, async (reader, server) => {
      assert.equal(reader.size, BYTES.length);
      for (const [offset, length] of [
        [0, 1],
        [1, 70_000],
        [500_000, 500_003],
      ] as const) {
        const bytes = await reader.readRange(offset, length);
        assert.ok(BYTES.subarray(offset, offset + length).equals(bytes));
      }
      assert.equal((await reader.readRange(999_999, 100)).length, 4, "the file ends");
      assert.equal((await reader.readRange(1_000_003, 100)).length, 0);
      assert.equal(server.connections(), 1);
      assert.deepEqual(
        server.requests.map((request) => request.headers.range),
        ["bytes=0-0", "bytes=1-70000", "bytes=500000-1000002", "bytes=999999-1000002"],
      );
      assert.ok(server.requests.every((request) => request.headers["if-range"] === '"one"'));
    });
  });

  it("reads many ranges at once", async () => {
    await withReader({}, async (reader) => {
      const offsets = Array.from({ length: 20 }, (_, i) => i * 50_000);
      const parts = await Promise.all(offsets.map(async (offset) => await reader.readRange(offset, 50_000)));
      assert.ok(Buffer.concat(parts).equals(BYTES.subarray(0, 1_000_000)));
    });
  });

  it("asks only for what is missing after a cut or a stall", async () => {
    await withReader(
      { ...first({ cutAfter: 100_000 }, { stallAfter: 30_000 }), stallMs: 80 },
      async (reader, server) => {
        const bytes = await reader.readRange(10, 400_000);
        assert.ok(BYTES.subarray(10, 400_010).equals(bytes));
        assert.deepEqual(
          server.requests.map((request) => request.headers.range),
          ["bytes=10-400009", "bytes=100010-400009", "bytes=130010-400009"],
        );
        assert.equal(reader.retries, 2);
      },
    );
  });

  it("takes a server's shorter ranges", async () => {
    const shorter = {
      bytes: BYTES.subarray(0, 300),
      headers: { "content-range": `bytes 0-299/${BYTES.length}` },
      ignoresRange: false,
    };
    await withReader(first(shorter), async (reader, server) => {
      assert.ok(BYTES.subarray(0, 1000).equals(await reader.readRange(0, 1000)));
      assert.equal(server.requests[1]?.headers.range, "bytes=300-999");
    });
  });

  it("survives a server that fails three times out of four", async () => {
    await withReader(
      { misdeed: (number) => (number % 4 === 0 ? undefined : { status: 503 }) },
      async (reader, server) => {
        for (let i = 0; i < 5; i++) assert.equal((await reader.readRange(i * 100, 100)).length, 100);
        assert.equal(server.requests.length, 20);
      },
    );
  });

  it("gives up when no connection brings anything, or next to nothing", async () => {
    for (const cutAfter of [0, 1]) {
      await withReader({ misdeed: () => ({ cutAfter }) }, async (reader, server) => {
        await assert.rejects(reader.readRange(5, 100), fails("SOURCE_TRUNCATED", false));
        assert.equal(server.requests.length, 6);
      });
    }
  });

  for (const [what, misdeed, code] of [
    ["200", { ignoresRange: true }, "SOURCE_TRUNCATED"],
    ["200 of a new file", { headers: { etag: '"two"' } }, "SOURCE_CHANGED"],
    ["a range of a new file", { headers: { etag: '"two"' }, ignoresIfRange: true }, "SOURCE_CHANGED"],
    ["416", { status: 416 }, "SOURCE_CHANGED"],
    ["a range of a longer file", { bytes: Buffer.concat([BYTES, BYTES]) }, "SOURCE_CHANGED"],
    ["another range", { headers: { "content-range": "bytes 0-99/1000003" } }, "SOURCE_UNAVAILABLE"],
    ["a longer range", { headers: { "content-range": "bytes 50-1000/1000003" } }, "SOURCE_UNAVAILABLE"],
    ["no Content-Range", { headers: { "content-range": undefined } }, "SOURCE_UNAVAILABLE"],
    ["a length that is not the range's", { headers: { "content-length": "7" } }, "SOURCE_UNAVAILABLE"],
    [
      "more bytes than the range has",
      { headers: { "content-range": "bytes 50-99/1000003" }, framing: "chunked", ignoresIfRange: true, extra: true },
      "SOURCE_CHANGED",
    ],
  ] as const) {
    it(`names a server that answers ${what}`, async () => {
      const { extra, ...deed } = { extra: false, ...misdeed };
      const settings: Settings = { misdeed: (_, request) => (extra ? { ...deed, ...widen(request) } : deed) };
      await withReader(settings, async (reader, server) => {
        await assert.rejects(reader.readRange(50, 50), fails(code, true));
        assert.equal(server.requests.length, 1, "asked once");
      });
    });
  }

  it("is interrupted by a signal, and refuses what nobody should ask for", async () => {
    await withReader({ misdeed: () => ({ stallAfter: 10 }) }, async (reader) => {
      const abort = new AbortController();
      const answer = reader.readRange(0, 100, abort.signal);
      setTimeout(() => abort.abort(), 50);
      await assert.rejects(answer, Interrupted);
      await assert.rejects(reader.readRange(0, MAX_RANGE_LENGTH + 1), /is longer than/);
    });
  });
});

/** Makes the server forget where the range ended. */
function widen(request: { headers: { range?: string | undefined } }): Misdeed {
  request.headers.range = "bytes=50-";
  return {};
}
