import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { detectFormat } from "../../formats/registry.ts";
import { HEAD_LENGTH, TAIL_LENGTH } from "../../formats/disk-format.ts";
import { FormatError } from "../../formats/errors.ts";
import { PIECE_LENGTH, readPieces } from "../../importer/disk-reader.ts";
import { driveParser } from "../../importer/drive-parser.ts";
import { sampleBytes, samples } from "../support/images.ts";
import { withStored } from "../support/job-places.ts";
import { createHash } from "node:crypto";

async function read(bytes: Uint8Array, decoders: "auto" | "portable"): Promise<Buffer> {
  return await withStored(bytes, async (file) => {
    const format = detectFormat(bytes.subarray(0, HEAD_LENGTH), bytes.subarray(-TAIL_LENGTH));
    const image = await driveParser(format.open(file.size), file);
    const disk = Buffer.alloc(image.virtualSize ?? 0, 0xee);
    let offset = 0;
    for await (const piece of readPieces(image, file, decoders)) {
      assert.equal(piece.offset, offset);
      assert.ok(piece.length > 0 && (piece.bytes === undefined || piece.bytes.length === piece.length));
      assert.ok(piece.bytes === undefined || piece.length <= 2 * PIECE_LENGTH);
      if (piece.bytes === undefined) disk.fill(0, offset, offset + piece.length);
      else disk.set(piece.bytes, offset);
      offset += piece.length;
    }
    assert.equal(offset, disk.length);
    return disk;
  });
}

describe("readPieces", () => {
  for (const sample of samples().filter(({ wrappers, refused }) => wrappers.length === 0 && refused === undefined)) {
    it(`reads ${sample.name} from its first byte to its last`, async () => {
      for (const decoders of ["auto", "portable"] as const) {
        const disk = await read(sampleBytes(sample.name), decoders);
        assert.equal(createHash("sha256").update(disk).digest("hex"), sample.contentSha256);
      }
    });
  }

  it("says what does not decode, and what lies beyond the end", async () => {
    const packed = sampleBytes("qcow2/zlib.qcow2");
    await assert.rejects(read(Buffer.from(packed).fill(0xff, packed.length - 2000), "auto"), (error) => {
      assert.ok(error instanceof FormatError && error.code === "FORMAT_CORRUPT" && error.cause instanceof FormatError);
      assert.match(error.message, /^compressed data of the disk at 0x[0-9a-f]+ does not decode$/);
      return true;
    });
    const plain = sampleBytes("qcow2/plain.qcow2");
    await assert.rejects(
      read(plain.subarray(0, plain.length - 200_000), "auto"),
      (error) =>
        error instanceof FormatError && error.code === "FORMAT_CORRUPT" && /beyond the end/.test(error.message),
    );
  });
});
