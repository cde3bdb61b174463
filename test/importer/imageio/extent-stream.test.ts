import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Interrupted, SourceError } from "../../../importer/errors.ts";
import { Place } from "../../../importer/http/place.ts";
import { RangeReader } from "../../../importer/http/range-reader.ts";
import { representationOf } from "../../../importer/http/representation.ts";
import { ExtentStream } from "../../../importer/imageio/extent-stream.ts";
import { parseExtents } from "../../../importer/imageio/extents.ts";
import { randomBytes } from "../../support/base-disk.ts";
import { readAll, withClient } from "../../support/http-client.ts";
import { withServer } from "../../support/misbehaving-server.ts";
import type { MisbehavingServer, ServerSettings } from "../../support/misbehaving-server.ts";
import { extentsOf } from "../../support/ovirt-engine.ts";

const MIB = 1024 * 1024;

/** Data from 1 to 8.5 MiB and in the last 4 KiB of 12 MiB. */
const DISK = Buffer.alloc(12 * MIB);
const next = randomBytes(3);
const pattern = Buffer.from(Array.from({ length: 65_537 }, next));
for (let at = MIB; at < 8.5 * MIB; at += pattern.length) {
  pattern.copy(DISK, at, 0, Math.min(pattern.length, 8.5 * MIB - at));
}
pattern.copy(DISK, DISK.length - 4096, 0, 4096);

async function withStream<T>(
  settings: Partial<ServerSettings>,
  connections: number,
  use: (stream: ExtentStream, server: MisbehavingServer) => Promise<T>,
): Promise<T> {
  return await withServer({ bytes: DISK, ...settings }, async (server) => {
    return await withClient({ stallMs: 2000 }, async (client) => {
      const representation = { ...representationOf({ get: () => null }, 0), size: DISK.length };
      const reader = new RangeReader(client, { place: Place.parse(`${server.origin}/t`).spec, representation });
      const extents = parseExtents(Buffer.from(JSON.stringify(extentsOf(DISK))), "disk 1");
      const stream = new ExtentStream(reader, extents, connections);
      try {
        return await use(stream, server);
      } finally {
        stream.close();
      }
    });
  });
}

describe("ExtentStream", () => {
  it("gives the whole disk, and fetches its data in pieces", async () => {
    for (const connections of [1, 8]) {
      await withStream({}, connections, async (stream, server) => {
        assert.ok((await readAll(stream)).equals(DISK));
        assert.equal(await stream.read(new Uint8Array(9)), 0);
        assert.equal(stream.fetched, 7.5 * MIB + 4096);
        assert.equal(server.requests.length, 5);
        assert.ok(server.connections() <= Math.min(connections, 4), `${server.connections()}`);
      });
    }
  });

  it("asks for nothing before it is read, and not for more than it may hold", async () => {
    await withStream({}, 2, async (stream, server) => {
      const into = new Uint8Array(MIB);
      assert.equal(server.requests.length, 0);
      assert.equal(await stream.read(into), MIB);
      assert.ok(into.every((byte) => byte === 0));
      assert.ok((await stream.read(into)) > 0);
      assert.equal(server.requests.length, 2);
    });
  });

  it("overwrites what is in the buffer where there are zeros", async () => {
    await withStream({}, 1, async (stream) => {
      const into = new Uint8Array(100).fill(7);
      assert.equal(await stream.read(into), 100);
      assert.ok(into.every((byte) => byte === 0));
    });
  });

  it("fails with its first piece that cannot be had, once it is reached", async () => {
    const misdeed = (_: number, request: { headers: { range?: string | undefined } }) =>
      request.headers.range?.startsWith(`bytes=${3 * MIB}-`) === true ? { status: 403 } : undefined;
    await withStream({ misdeed }, 4, async (stream) => {
      const begin = Buffer.alloc(3 * MIB);
      for (let at = 0; at < begin.length;) at += await stream.read(begin.subarray(at));
      assert.ok(begin.equals(DISK.subarray(0, 3 * MIB)));
      await assert.rejects(async () => await stream.read(begin), SourceError);
    });
  });

  it("ends a read that waits when it is closed", async () => {
    await withStream({ misdeed: () => ({ stallAfter: 10 }) }, 4, async (stream) => {
      const into = new Uint8Array(MIB);
      await stream.read(into);
      const waiting = stream.read(into);
      setImmediate(() => stream.close());
      await assert.rejects(async () => await waiting, Interrupted);
      assert.equal(await stream.read(into), 0);
    });
  });
});
