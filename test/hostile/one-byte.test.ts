/**
 * Every sample image, as a stream that brings one byte at a time: the same disk as the file gives, or the same refusal.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import { KIB } from "../../formats/bytes.ts";
import { sampleBytes, samples } from "../support/images.ts";
import { pour } from "../support/pour.ts";
import { memoryFolder, withTemporaryFolder } from "../support/temporary-folder.ts";

/**
 * So many bytes come one by one, which is all of the small samples and the headers of the large ones; the rest in odd
 * pieces. FULL=1: all of them (a minute more).
 */
const SINGLE_BYTES = process.env["FULL"] === "1" ? Infinity : 48 * KIB;
const ODD_LENGTH = 8_191;

const pieces = (piece: number): number => (piece < SINGLE_BYTES ? 1 : ODD_LENGTH);

describe("one byte at a time", () => {
  for (const sample of samples()) {
    for (const decoders of sample.wrappers.length > 0 ? (["auto", "portable"] as const) : (["auto"] as const)) {
      it(`${sample.name}, decoders ${decoders}`, async () => {
        await withTemporaryFolder(async (folder) => {
          const bytes = sampleBytes(sample.name);
          const file = await pour(bytes, "file", { folder, decoders });
          const stream = await pour(bytes, "stream", { folder, decoders, pieces });
          assert.notEqual(file.code, "INTERNAL", String(file.error));
          assert.equal(stream.code, file.code, String(stream.error ?? file.error));
          if (file.code !== undefined) return;
          assert.equal(digest(stream.disk), digest(file.disk));
          assert.equal(digest(file.disk), sample.contentSha256);
        }, memoryFolder());
      });
    }
  }
});

function digest(disk: Buffer | undefined): string | undefined {
  return disk === undefined ? undefined : createHash("sha256").update(disk).digest("hex");
}
