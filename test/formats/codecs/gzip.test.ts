import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { crc32 } from "node:zlib";
import { gzip } from "../../../formats/codecs/gzip.ts";
import { assertCode, CHOICES, decodeAll, describeCodec, samplePlain } from "../../suites/codec.ts";
import { compressWith } from "../../support/compress.ts";
import { requireTools } from "../../support/tools.ts";

const skip = requireTools("gzip", "pigz");

describe("gzip", { skip }, () => {
  describeCodec("gzip", {
    codec: gzip,
    compress: compressWith("gzip", "-6"),
    padding: new Uint8Array(1000),
    mutations: 400,
  });

  for (const decoders of CHOICES) {
    describe(decoders, () => {
      const decode = (file: Uint8Array): Promise<Buffer> => decodeAll(gzip, file, decoders);
      const plain = samplePlain(400_000);
      const packed = compressWith("gzip")(plain);

      it("reads what pigz writes", async () => {
        for (const args of [["-1"], ["-9"], ["-p4", "-b128"]]) {
          assert.ok((await decode(compressWith("pigz", ...args)(plain))).equals(plain));
        }
      });

      it("reads many small members", async () => {
        const member = compressWith("gzip")(plain.subarray(0, 1000));
        const got = await decode(Buffer.concat(Array.from({ length: 300 }, () => member)));
        assert.equal(got.length, 300_000);
        assert.ok(got.subarray(299_000).equals(plain.subarray(0, 1000)));
      });

      it("reads every optional field of a header", async () => {
        const body = packed.subarray(10 + (packed.indexOf(0, 10) - 10 + 1) * ((packed[3] ?? 0) & 8 ? 1 : 0));
        const fields = Buffer.concat([
          Buffer.from([0x1f, 0x8b, 8, 0x1e, 0, 0, 0, 0, 0, 3]),
          Buffer.from([3, 0, 1, 2, 3]),
          Buffer.from("name\0comment\0"),
        ]);
        const sum = Buffer.alloc(2);
        sum.writeUInt16LE(crc32(fields) & 0xffff);
        assert.ok((await decode(Buffer.concat([fields, sum, body]))).equals(plain));
        sum[0] = (sum[0] ?? 0) ^ 1;
        await assertCode(decode(Buffer.concat([fields, sum, body])), "FORMAT_CORRUPT", /header/);
      });

      it("refuses a wrong CRC-32 and a wrong length", async () => {
        for (const [at, message] of [
          [8, /CRC-32/],
          [4, /length/],
        ] as const) {
          const damaged = Buffer.from(packed);
          const position = damaged.length - at;
          damaged[position] = (damaged[position] ?? 0) ^ 1;
          await assertCode(decode(damaged), "FORMAT_CORRUPT", message);
        }
      });

      it("refuses junk behind padding", async () => {
        await assertCode(decode(Buffer.concat([packed, new Uint8Array(9), Buffer.from("x")])), "FORMAT_CORRUPT");
      });
    });
  }
});
