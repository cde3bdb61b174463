import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Interrupted, SourceError } from "../../../importer/errors.ts";
import { readDocument } from "../../../importer/http/document.ts";
import { Place } from "../../../importer/http/place.ts";
import { withClient } from "../../support/http-client.ts";
import { withServer } from "../../support/misbehaving-server.ts";
import type { Misdeed } from "../../support/misbehaving-server.ts";

const BYTES = Buffer.from("a small answer");

async function read(misdeed: Misdeed | undefined, maxLength = 100, statuses: readonly number[] = [200]) {
  return await withServer({ bytes: BYTES, misdeed: () => misdeed }, async (server) => {
    return await withClient({ stallMs: 200 }, async (client) => {
      return await readDocument(client, Place.parse(`${server.origin}/list?secret`), { statuses }, maxLength);
    });
  });
}

async function fails(work: Promise<unknown>, code: string, message: RegExp): Promise<void> {
  await assert.rejects(work, (error) => {
    assert.ok(error instanceof SourceError, String(error));
    assert.equal(error.code, code);
    assert.match(error.message, message);
    assert.ok(!error.message.includes("secret"));
    return true;
  });
}

describe("readDocument", () => {
  it("gives status, headers and all bytes, in memory of their own", async () => {
    const { status, headers, bytes } = await read({ headers: { "x-note": "yes" } }, BYTES.length);
    assert.deepEqual([status, headers.get("x-note"), Buffer.from(bytes).toString()], [200, "yes", "a small answer"]);
    assert.equal(bytes.buffer.byteLength, BYTES.length);
    for (const framing of ["chunked", "until-closed"] as const) {
      assert.equal(Buffer.from((await read({ framing })).bytes).toString(), "a small answer");
    }
    assert.equal((await read({ bytes: Buffer.alloc(0) })).bytes.length, 0);
  });

  it("takes a refusal for an answer where it was asked to", async () => {
    assert.equal((await read({ status: 404 }, 10, [200, 404])).status, 404);
    await fails(read({ status: 404 }), "SOURCE_NOT_FOUND", /answers 404/);
  });

  it("refuses an answer that is too long, without reading all of it", async () => {
    await fails(read(undefined, BYTES.length - 1), "SOURCE_UNAVAILABLE", /more than 13 bytes/);
    await fails(
      read({ bytes: Buffer.alloc(1 << 24), framing: "chunked" }),
      "SOURCE_UNAVAILABLE",
      /more than 100 bytes/,
    );
  });

  it("fails where the answer breaks off, or stops", async () => {
    await fails(read({ cutAfter: 5 }), "SOURCE_UNAVAILABLE", /cannot read/);
    await fails(read({ stallAfter: 5 }), "SOURCE_UNAVAILABLE", /gave no byte for 0\.2 seconds/);
  });

  it("ends with its signal", async () => {
    await withServer({ bytes: BYTES, misdeed: () => ({ stallAfter: 0 }) }, async (server) => {
      await withClient({}, async (client) => {
        const request = { statuses: [200], signal: AbortSignal.abort() };
        await assert.rejects(readDocument(client, Place.parse(server.origin), request, 10), Interrupted);
      });
    });
  });
});
