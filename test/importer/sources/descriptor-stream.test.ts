import assert from "node:assert/strict";
import fs from "node:fs";
import { describe, it } from "node:test";
import { SourceError } from "../../../importer/errors.ts";
import { DescriptorStream } from "../../../importer/sources/descriptor-stream.ts";

describe("DescriptorStream", () => {
  it("waits outside the main thread", async () => {
    const stream = new DescriptorStream(fs.openSync("/dev/zero", "r"), "zeros");
    const into = Buffer.alloc(100, 1);
    const answer = stream.read(into);
    assert.ok(typeof answer !== "number");
    assert.equal(await answer, 100);
    assert.ok(into.equals(Buffer.alloc(100)));
    stream.close();
    stream.close();
    assert.equal(await stream.read(into), 0, "closed is ended");
  });

  it("names what cannot be read", async () => {
    await assert.rejects(
      async () => await new DescriptorStream(1_000_000, "the pipe").read(new Uint8Array(1)),
      (error) => {
        return (
          error instanceof SourceError &&
          error.code === "SOURCE_UNAVAILABLE" &&
          error.message === "cannot read the pipe"
        );
      },
    );
  });
});
