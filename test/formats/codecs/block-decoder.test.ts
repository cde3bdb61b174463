import assert from "node:assert/strict";
import { describe, it } from "node:test";
import zlib from "node:zlib";
import { createBlockDecoder } from "../../../formats/codecs/block-decoder.ts";
import type { EncodedStored } from "../../../formats/disk-format.ts";
import { FormatError } from "../../../formats/errors.ts";
import { CHOICES, samplePlain } from "../../suites/codec.ts";
import { randomBytes } from "../../support/base-disk.ts";

type Encoding = EncodedStored["encoding"];

const CLUSTER = 65_536;
const GARBAGE = Buffer.from("what was here before ".repeat(20));
const plain = Buffer.from(samplePlain(CLUSTER));
const twice = Buffer.concat([plain, plain]);

const ENCODERS: Readonly<Record<Encoding, (bytes: Uint8Array) => Buffer>> = {
  deflate: (bytes) => zlib.deflateRawSync(bytes),
  zlib: (bytes) => zlib.deflateSync(bytes),
  zstd: (bytes) => zlib.zstdCompressSync(bytes),
  "vmdk-grain": (bytes) => grain(zlib.deflateSync(bytes)),
};
const ENCODINGS = Object.keys(ENCODERS) as Encoding[];

for (const decoders of CHOICES) {
  describe(`block decoder, ${decoders}`, () => {
    const decode = (encoding: Encoding, input: Uint8Array, length = CLUSTER, needed?: number): Buffer => {
      const output = new Uint8Array(new SharedArrayBuffer(length + 64), 32, length).fill(0xaa);
      const around = new Uint8Array(output.buffer);
      const decoder = createBlockDecoder(decoders);
      try {
        decoder.decode(encoding, input, output, needed);
      } finally {
        decoder.close();
        decoder.close();
        assert.ok(
          around.subarray(0, 32).every((byte) => byte === 0),
          "wrote before the output",
        );
        assert.ok(
          around.subarray(32 + length).every((byte) => byte === 0),
          "wrote behind the output",
        );
      }
      return Buffer.from(output);
    };
    const assertCorrupt = (encoding: Encoding, input: Uint8Array, needed?: number): void => {
      assert.throws(
        () => decode(encoding, input, CLUSTER, needed),
        (error) => error instanceof FormatError && error.code === "FORMAT_CORRUPT",
      );
    };

    for (const encoding of ENCODINGS) {
      const encoded = ENCODERS[encoding](plain);

      it(`fills the output from ${encoding}, with garbage behind it or not`, () => {
        assert.ok(decode(encoding, encoded).equals(plain));
        assert.ok(decode(encoding, Buffer.concat([encoded, GARBAGE])).equals(plain));
        const shared = new Uint8Array(new SharedArrayBuffer(encoded.length));
        shared.set(encoded);
        assert.ok(decode(encoding, shared).equals(plain));
      });

      it(`reads ${encoding} of clusters from 512 bytes to 2 MiB`, () => {
        for (const length of [512, 4096, 2 * 1024 * 1024]) {
          const some = Buffer.from(samplePlain(length));
          assert.ok(decode(encoding, ENCODERS[encoding](some), length).equals(some));
        }
      });

      it(`refuses ${encoding} that is cut short`, () => {
        const end = encoded.length - (encoding === "vmdk-grain" ? GARBAGE.length : 0);
        for (const length of [0, 1, 5, 11, 12, 13, 100, end >> 1, end - 40]) {
          assertCorrupt(encoding, encoded.subarray(0, length));
        }
      });

      it(`gives a FormatError or a cluster for damaged ${encoding}`, () => {
        const next = randomBytes(31);
        for (let i = 0; i < 150; i++) {
          const damaged = Buffer.from(encoded);
          for (let changes = 1 + (next() % 3); changes > 0; changes--) {
            damaged[((next() << 8) | next()) % (i % 2 === 0 ? 24 : damaged.length)] = next();
          }
          try {
            decode(encoding, damaged);
          } catch (error) {
            if (!(error instanceof FormatError)) throw error;
          }
        }
      });
    }

    it("refuses a cluster that decodes to less", () => {
      for (const encoding of ["deflate", "zlib", "zstd"] as const) {
        assertCorrupt(encoding, ENCODERS[encoding](plain.subarray(1)));
        assertCorrupt(encoding, ENCODERS[encoding](new Uint8Array(0)));
      }
    });

    it("accepts deflate and zlib that fill the cluster and go on, as qemu does, but not zstd or a grain", () => {
      for (const encoding of ["deflate", "zlib"] as const) {
        assert.ok(decode(encoding, ENCODERS[encoding](twice)).equals(plain));
      }
      for (const encoding of ["zstd", "vmdk-grain"] as const) assertCorrupt(encoding, ENCODERS[encoding](twice));
    });

    it("bounds how far they may go on", () => {
      assertCorrupt("deflate", zlib.deflateRawSync(new Uint8Array(24 * 1024 * 1024)));
    });

    it("accepts deflate that fills the cluster without a last block", () => {
      const options = { finishFlush: zlib.constants.Z_SYNC_FLUSH };
      assert.ok(decode("deflate", zlib.deflateRawSync(plain, options)).equals(plain));
    });

    it("verifies the checksum of zlib and of a grain", () => {
      for (const encoding of ["zlib", "vmdk-grain"] as const) {
        const damaged = ENCODERS[encoding](plain);
        const last = encoding === "zlib" ? damaged.length - 1 : damaged.length - GARBAGE.length - 1;
        damaged[last] = (damaged[last] ?? 0) ^ 1;
        assertCorrupt(encoding, damaged);
      }
    });

    it("reads a cluster of several zstd frames", () => {
      const frames = [plain.subarray(0, 99), plain.subarray(99)].map((part) => zlib.zstdCompressSync(part));
      assert.ok(decode("zstd", Buffer.concat([...frames, GARBAGE])).equals(plain));
    });

    it("refuses a zstd window above 128 MiB, and a dictionary", () => {
      const window = Buffer.from("28b52ffd00900100000a", "hex");
      const dictionary = Buffer.from("28b52ffd2339300000640100000a", "hex");
      for (const [file, code] of [
        [window, "FORMAT_OUT_OF_BOUNDS"],
        [dictionary, "FORMAT_UNSUPPORTED"],
      ] as const) {
        assert.throws(() => decode("zstd", file), { code });
      }
    });

    it("fills up a short grain with zeros, if what is needed is there", () => {
      const short = ENCODERS["vmdk-grain"](plain.subarray(0, 1536));
      const expected = Buffer.alloc(CLUSTER);
      plain.copy(expected, 0, 0, 1536);
      assert.ok(decode("vmdk-grain", short).equals(expected));
      assert.ok(decode("vmdk-grain", short, CLUSTER, 1536).equals(expected));
      assertCorrupt("vmdk-grain", short, 1537);
    });

    it("refuses a grain marker that announces nothing, or more than there is", () => {
      const encoded = grain(zlib.deflateSync(plain));
      for (const length of [0, encoded.length - 11, 0xffff_ffff]) {
        encoded.writeUInt32LE(length, 8);
        assertCorrupt("vmdk-grain", encoded);
      }
    });

    it("does not work once it is closed", () => {
      const decoder = createBlockDecoder(decoders);
      decoder.close();
      assert.throws(() => decoder.decode("deflate", ENCODERS.deflate(plain), new Uint8Array(CLUSTER)), /closed/);
    });
  });
}

function grain(data: Uint8Array): Buffer {
  const marker = Buffer.alloc(12);
  marker.writeUInt32LE(data.length, 8);
  return Buffer.concat([marker, data, GARBAGE]);
}
