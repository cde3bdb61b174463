import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { describe, it } from "node:test";
import { BodyReader } from "../../../importer/http/body-reader.ts";
import { StallWatch } from "../../../importer/http/stall.ts";
import { baseDisk } from "../../support/base-disk.ts";
import { readAll } from "../../support/http-client.ts";

const BYTES = baseDisk(3_000_000);

function reader(stream: PassThrough): BodyReader {
  return new BodyReader(stream, new StallWatch(60_000, undefined));
}

describe("BodyReader", () => {
  it("gives pieces of any length in buffers of any length", async () => {
    for (const length of [1, 7, 4096, 100_000]) {
      const body = new PassThrough();
      const bytes = BYTES.subarray(0, length * 20);
      const read = reader(body);
      for (let at = 0; at < bytes.length; at += length) body.write(bytes.subarray(at, at + length));
      body.end();
      assert.ok((await readAll(read)).equals(bytes), String(length));
      assert.equal(await read.read(new Uint8Array(1)), 0);
    }
  });

  it("fills a buffer from several pieces", async () => {
    const body = new PassThrough();
    const read = reader(body);
    for (const piece of ["ab", "cd", "ef"]) body.write(piece);
    await new Promise((resolve) => setImmediate(resolve));
    const into = Buffer.alloc(5);
    assert.equal(read.read(into), 5, "at once");
    assert.equal(into.toString(), "abcde");
    assert.equal(read.read(into), 1);
  });

  it("lets the sender wait while nobody reads", async () => {
    const body = new PassThrough();
    const read = reader(body);
    let accepted = 0;
    while (accepted < BYTES.length && body.write(BYTES.subarray(accepted, accepted + 65_536))) accepted += 65_536;
    await new Promise((resolve) => setTimeout(resolve, 20));
    for (let i = 0; i < 20; i++) {
      if (!body.writableNeedDrain) body.write(BYTES.subarray(0, 65_536));
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.ok(body.writableNeedDrain, "more than a megabyte would lie here otherwise");
    read.close();
  });

  it("gives what came before an error, then the error", async () => {
    const body = new PassThrough();
    const read = reader(body);
    body.write("abc");
    await new Promise((resolve) => setImmediate(resolve));
    body.destroy(new Error("cut"));
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(await read.read(new Uint8Array(10)), 3);
    assert.throws(() => void read.read(new Uint8Array(10)), /cut/);
  });

  it("calls a stream that is only closed broken off", async () => {
    const body = new PassThrough();
    const answer = reader(body).read(new Uint8Array(10));
    body.destroy();
    await assert.rejects(async () => await answer, { code: "ERR_STREAM_PREMATURE_CLOSE" });
  });
});
