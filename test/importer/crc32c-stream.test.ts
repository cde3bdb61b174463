import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Crc32cStream } from "../../importer/crc32c-stream.ts";
import { SourceError } from "../../importer/errors.ts";
import { mayRestart } from "../../importer/another-attempt.ts";
import { consequences } from "../../importer/outcome.ts";
import { baseDisk } from "../support/base-disk.ts";
import { slowCrc32c } from "../support/build-vhdx.ts";
import { readAll } from "../support/http-client.ts";
import { streamOf } from "../support/streams.ts";

const BYTES = baseDisk(4096 * 5 + 7);

describe("CRC-32C stream", () => {
  it("passes the bytes that it was told of, in whatever pieces", async () => {
    for (const length of [1, 7, 4096, BYTES.length]) {
      const stream = new Crc32cStream(
        streamOf(BYTES, () => length),
        slowCrc32c(BYTES),
        "disk",
      );
      assert.ok((await readAll(stream)).equals(BYTES));
      assert.equal(await stream.read(Buffer.alloc(1)), 0);
    }
    assert.equal((await readAll(new Crc32cStream(streamOf(Buffer.alloc(0)), 0, "disk"))).length, 0);
  });

  it("fails at the end for others: damaged on the way, so another try may help", async () => {
    const damaged = Buffer.from(BYTES);
    damaged.writeUInt8(damaged.readUInt8(100) ^ 1, 100);
    for (const bytes of [damaged, BYTES.subarray(1), Buffer.alloc(0)]) {
      const stream = new Crc32cStream(
        streamOf(bytes, () => 1000),
        slowCrc32c(BYTES),
        "gs://b/k",
      );
      assert.equal(await stream.read(Buffer.alloc(0)), 0);
      await assert.rejects(readAll(stream), (error) => {
        assert.ok(error instanceof SourceError && mayRestart(error));
        assert.equal(consequences[error.code].retry, "transient");
        assert.match(
          error.message,
          /^gs:\/\/b\/k came damaged: its CRC-32C is [0-9a-f]{8}, and the server says [0-9a-f]{8}$/,
        );
        return true;
      });
    }
  });
});
