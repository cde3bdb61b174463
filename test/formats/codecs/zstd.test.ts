import assert from "node:assert/strict";
import { describe, it } from "node:test";
import zlib from "node:zlib";
import { zstd } from "../../../formats/codecs/zstd.ts";
import { MIB } from "../../../formats/bytes.ts";
import {
  assertCode,
  CHOICES,
  CountedInput,
  decodeAll,
  describeCodec,
  readAll,
  samplePlain,
} from "../../suites/codec.ts";
import { compressWith } from "../../support/compress.ts";
import { requireTools } from "../../support/tools.ts";

const skip = requireTools("zstd", "pzstd");
const SKIPPABLE = Buffer.from("\x5e\x2a\x4d\x18\x08\x00\x00\x00skipskip", "latin1");

describe("zstd", { skip }, () => {
  describeCodec("zstd", { codec: zstd, compress: compressWith("zstd", "-q"), padding: SKIPPABLE, mutations: 400 });

  for (const decoders of CHOICES) {
    describe(decoders, () => {
      const decode = (file: Uint8Array, length?: number): Promise<Buffer> => decodeAll(zstd, file, decoders, length);
      const plain = samplePlain(900_000);
      const packed = compressWith("zstd", "-q")(plain);

      it("reads what zstd and pzstd write", async () => {
        for (const command of [
          ["zstd", "-q", "-1", "--no-check"],
          ["zstd", "-q", "-19", "-T2", "--long=24"],
          ["zstd", "-q", "--fast=5", "--content-size"],
          ["pzstd", "-q", "-p4"],
        ]) {
          const file = compressWith(...command)(plain);
          assert.ok(zstd.probe(file), command.join(" "));
          assert.ok((await decode(file)).equals(plain), command.join(" "));
        }
      });

      it("reads frames that say how long they are and fit what is asked for at once", async () => {
        for (const length of [0, 1, 2, 300, 5000, 60_000]) {
          const some = samplePlain(length);
          const frame = zlib.zstdCompressSync(some);
          for (const asked of [64 * 1024, Math.max(1, length), 1024 * 1024]) {
            assert.ok((await decode(frame, asked)).equals(some), `${length} bytes into ${asked}`);
            assert.ok((await decode(Buffer.concat([frame, frame]), asked)).equals(Buffer.concat([some, some])));
          }
        }
      });

      it("goes on behind a skippable frame between two frames (C07)", async () => {
        assert.ok((await decode(Buffer.concat([packed, SKIPPABLE, packed]))).equals(Buffer.concat([plain, plain])));
      });

      it("begins with a skippable frame, also a long one (C08)", async () => {
        const long = Buffer.alloc(8 + 300_000, 7);
        long.writeUInt32LE(0x184d2a50);
        long.writeUInt32LE(300_000, 4);
        for (const first of [SKIPPABLE, long]) {
          const file = Buffer.concat([first, packed]);
          assert.ok(zstd.probe(file));
          assert.ok((await decode(file)).equals(plain));
          await assertCode(decode(first.subarray(0, -1)), "FORMAT_CORRUPT");
        }
      });

      it("reads a first block of 100 bytes, raw blocks and no content size (C06)", async () => {
        const file = Buffer.concat([Buffer.from("28b52ffd0058", "hex"), ...rawBlocks(plain)]);
        assert.ok((await decode(file)).equals(plain));
        const input = new CountedInput(file, 1000, true);
        assert.ok((await readAll(zstd.decode(input, { decoders, memoryLimit: MIB * 8 }), 7777)).equals(plain));
      });

      it("refuses a file that is 50 bytes short (C10)", async () => {
        for (const check of ["--check", "--no-check"]) {
          const file = compressWith("zstd", "-q", check)(plain);
          await assertCode(decode(file.subarray(0, -50)), "FORMAT_CORRUPT", /ends before/);
        }
      });

      it("refuses a wrong checksum and a wrong content size", async () => {
        const damaged = Buffer.from(packed);
        damaged[damaged.length - 1] = (damaged.at(-1) ?? 0) ^ 1;
        await assertCode(decode(damaged), "FORMAT_CORRUPT");
        const raw = Buffer.concat([
          Buffer.from("28b52ffd605802", "hex"),
          Buffer.from([1 | (100 << 3), 3, 0]),
          Buffer.alloc(100),
        ]);
        await assertCode(decode(raw), "FORMAT_CORRUPT");
      });

      it("refuses a window above the limit, with both figures, before it is allocated", async () => {
        const file = compressWith("zstd", "-q", "--long=27")(plain); // 128 MiB: no content size from a pipe
        const within = zstd.decode(new CountedInput(file), { decoders, memoryLimit: 128 * MIB });
        assert.ok((await readAll(within)).equals(plain));
        const beyond = zstd.decode(new CountedInput(file), { decoders, memoryLimit: 128 * MIB - 1 });
        await assertCode(readAll(beyond), "FORMAT_OUT_OF_BOUNDS", /134217728.*134217727/);
        // A single segment of 1 TiB.
        const hostile = Buffer.from("28b52ffde00000000000010000010000", "hex");
        await assertCode(decode(hostile), "FORMAT_OUT_OF_BOUNDS", /1099511627776.*536870912/);
      });

      it("reads a window of 256 MiB, which node:zlib refuses by default", async () => {
        const file = compressWith("zstd", "-q", "--long=28")(plain);
        assert.ok((await decode(file)).equals(plain));
      });

      it("refuses a frame that needs a dictionary, with its id", async () => {
        const file = Buffer.from("28b52ffd2339300000640100000a", "hex");
        await assertCode(decode(file), "FORMAT_UNSUPPORTED", /dictionary with id 12345.*-D/);
      });

      it("names LZ4, which has skippable frames too", async () => {
        await assertCode(
          decode(Buffer.concat([SKIPPABLE, Buffer.from("04224d186440a7", "hex")])),
          "FORMAT_UNSUPPORTED",
          /LZ4/,
        );
      });

      it("reads many small frames", async () => {
        const frame = compressWith("zstd", "-q")(plain.subarray(0, 777));
        const got = await decode(Buffer.concat(Array.from({ length: 1000 }, () => frame)), 1 << 20);
        assert.equal(got.length, 777_000);
        assert.ok(got.subarray(776_223).equals(plain.subarray(0, 777)));
      });
    });
  }
});

/** Raw blocks: the first of 100 bytes, the others as large as they may be. */
function rawBlocks(plain: Uint8Array): Buffer[] {
  const blocks: Buffer[] = [];
  for (let at = 0; at < plain.length;) {
    const size = at === 0 ? 100 : Math.min(128 * 1024, plain.length - at);
    const isLast = at + size === plain.length;
    const header = Buffer.alloc(3);
    header.writeUIntLE((isLast ? 1 : 0) + size * 8, 0, 3);
    blocks.push(header, Buffer.from(plain.subarray(at, at + size)));
    at += size;
  }
  return blocks;
}
