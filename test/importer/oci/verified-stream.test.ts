import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SourceError } from "../../../importer/errors.ts";
import { parseContentDigest } from "../../../importer/oci/content-digest.ts";
import { VerifiedStream } from "../../../importer/oci/verified-stream.ts";
import { digestOf } from "../../support/build-image.ts";
import { readAll } from "../../support/http-client.ts";

/** @param answer at once, or later as a socket does */
function verified(text: string, expected: string, size: number, answer: "at once" | "later"): VerifiedStream {
  const bytes = Buffer.from(text);
  let at = 0;
  const read = (into: Uint8Array): number => {
    const count = bytes.copy(into, 0, at, at + 3);
    at += count;
    return count;
  };
  const stream = {
    read: (into: Uint8Array) => (answer === "later" ? Promise.resolve(read(into)) : read(into)),
    close: () => undefined,
  };
  const digest = parseContentDigest(digestOf(Buffer.from(expected)));
  assert.ok(digest !== undefined);
  return new VerifiedStream(stream, { digest, size, what: "the blob" });
}

async function fails(stream: VerifiedStream, code: string, message: RegExp): Promise<void> {
  await assert.rejects(readAll(stream), (error) => {
    return error instanceof SourceError && error.code === code && message.test(error.message);
  });
}

for (const answer of ["at once", "later"] as const) {
  describe(`VerifiedStream of a stream that answers ${answer}`, () => {
    it("passes what it is given, and ends for ever", async () => {
      const stream = verified("the content", "the content", 11, answer);
      assert.equal((await readAll(stream)).toString(), "the content");
      assert.equal(stream.position, 11);
      assert.equal(await stream.read(new Uint8Array(1)), 0);
    });

    it("fails at the end of something else, and where it is too short", async () => {
      await fails(verified("the contents", "the content", 12, answer), "SOURCE_CHECKSUM", /has the digest/);
      await fails(verified("the conten!", "the content", 11, answer), "SOURCE_CHECKSUM", /has the digest/);
      await fails(verified("the", "the content", 11, answer), "SOURCE_TRUNCATED", /ended after 3 of 11 bytes/);
    });

    it("does not wait for the end of something endless", async () => {
      const stream = verified("x".repeat(1000), "the content", 11, answer);
      await fails(stream, "SOURCE_CHECKSUM", /more than the 11 bytes/);
      assert.ok(stream.position <= 14);
    });
  });
}
