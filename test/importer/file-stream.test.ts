import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FileStream } from "../../importer/file-stream.ts";
import { readAll } from "../suites/codec.ts";
import { baseDisk } from "../support/base-disk.ts";
import { withStored } from "../support/job-places.ts";

describe("FileStream", () => {
  it("reads a file from its first byte to its last, and leaves it open", async () => {
    const bytes = baseDisk(100_000);
    await withStored(bytes, async (file) => {
      for (const length of [1000, 65_536, 200_000]) {
        assert.ok((await readAll(new FileStream(file), length)).equals(bytes));
      }
      assert.equal(file.readAt(new Uint8Array(5), 0), 5);
    });
  });
});
