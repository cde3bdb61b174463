import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MIB } from "../../../formats/bytes.ts";
import { xz } from "../../../formats/codecs/xz.ts";
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
import { requireLibraries, requireTools } from "../../support/tools.ts";

const skip = requireTools("xz");

/** With CI=true a machine without it is no excuse. */
const withoutLiblzma = requireLibraries("liblzma5");

describe("xz", { skip }, () => {
  describeCodec("xz", { codec: xz, compress: compressWith("xz", "-1"), padding: new Uint8Array(8), mutations: 150 });

  const plain = samplePlain(200_000);
  const packed = new Map<string, Buffer>(); // each file is made once for both decoders
  const xzOf = (...args: readonly string[]): Buffer => {
    const key = args.join(" ");
    const file = packed.get(key) ?? compressWith("xz", ...args)(plain);
    packed.set(key, file);
    return file;
  };
  const portable = [
    ["-T1", "-6"],
    ["-T2", "-0", "--block-size=100KiB"],
    ["-0", "--block-list=60KiB,10KiB,0"],
    ["-0", "--check=none"],
    ["-0", "--check=crc32"],
    ["-0", "--check=crc64"],
    ["--lzma2=preset=0,dict=64MiB"],
    ["--lzma2=preset=0,lc=0,lp=2,pb=0"],
  ];
  const liblzmaOnly: readonly (readonly [RegExp, readonly string[]])[] = [
    [/SHA-256.*liblzma5/, ["-0", "--check=sha256"]],
    [/filters 0x4, 0x21.*liblzma5/, ["--x86", "--lzma2=preset=0"]],
    [/filters 0x3, 0x21.*liblzma5/, ["--delta=dist=4", "--lzma2=preset=0"]],
    [/filters 0x7.*liblzma5/, ["--arm", "--lzma2=preset=0"]],
    [/dictionary of 100663296 bytes.*liblzma5/, ["--lzma2=preset=0,dict=96MiB"]],
  ];

  for (const decoders of CHOICES) {
    describe(decoders, () => {
      const decode = (file: Uint8Array): Promise<Buffer> => decodeAll(xz, file, decoders);

      for (const args of portable) {
        it(`reads xz ${args.join(" ")}`, async () => {
          assert.ok((await decode(xzOf(...args))).equals(plain));
        });
      }

      for (const [message, args] of liblzmaOnly) {
        it(`${decoders === "auto" ? "reads" : "refuses by name"} xz ${args.join(" ")}`, async (context) => {
          const file = xzOf(...args);
          if (decoders === "portable") await assertCode(decode(file), "FORMAT_UNSUPPORTED", message);
          else if (withoutLiblzma !== false) context.skip(withoutLiblzma);
          else assert.ok((await decode(file)).equals(plain));
        });
      }

      it("reads streams back to back with padding between (C02)", async () => {
        const stream = xzOf("-0");
        const blocks = xzOf("-0", "-T2", "--block-size=64KiB");
        const empty = compressWith("xz")(new Uint8Array(0));
        const file = Buffer.concat([
          stream,
          new Uint8Array(8),
          blocks,
          empty,
          new Uint8Array(400),
          stream,
          new Uint8Array(4),
        ]);
        assert.ok((await decode(file)).equals(Buffer.concat([plain, plain, plain])));
        for (const count of [1, 2, 3, 5]) {
          await assertCode(decode(Buffer.concat([stream, new Uint8Array(count)])), "FORMAT_CORRUPT");
          await assertCode(decode(Buffer.concat([stream, new Uint8Array(count), stream])), "FORMAT_CORRUPT");
        }
      });

      it("refuses damage to content, index and footer", async () => {
        const file = compressWith("xz", "-0", "--block-size=16KiB")(plain.subarray(0, 50_000));
        for (const from of ["middle", "end"]) {
          for (let i = 1; i <= 40; i++) {
            const damaged = Buffer.from(file);
            const at = from === "middle" ? Math.floor((file.length * i) / 41) : file.length - i;
            damaged[at] = (damaged[at] ?? 0) ^ 0x10;
            await assertCode(decode(damaged), "FORMAT_CORRUPT");
          }
        }
      });

      it("compares the memory that is asked for with the limit, and says both (C01, C03)", async () => {
        const file = xzOf("--lzma2=preset=0,dict=512MiB");
        await assertCode(decode(file), "FORMAT_OUT_OF_BOUNDS", /needs 53\d{7} bytes.*536870912 are allowed/);
        const small = xzOf("-T1", "--lzma2=preset=0,dict=1MiB");
        const limited = (memoryLimit: number): Promise<Buffer> =>
          readAll(xz.decode(new CountedInput(small), { decoders, memoryLimit }));
        assert.ok((await limited(2 * MIB)).equals(plain));
        await assertCode(limited(MIB), "FORMAT_OUT_OF_BOUNDS", /needs 1\d{6} bytes.*1048576 are allowed/);
      });

      it("compares the memory of a later block too", async () => {
        const file = Buffer.concat([xzOf("--lzma2=preset=0,dict=64KiB"), xzOf("--lzma2=preset=0,dict=48MiB")]);
        const stream = xz.decode(new CountedInput(file), { decoders, memoryLimit: 32 * MIB });
        await assertCode(readAll(stream), "FORMAT_OUT_OF_BOUNDS", /needs 50\d{6} bytes/);
      });

      it("reads an xz inside an xz, both at once", async () => {
        const inner = xzOf("-0");
        const outer = xz.decode(new CountedInput(compressWith("xz", "-0")(inner)), { decoders, memoryLimit: 64 * MIB });
        assert.ok((await readAll(xz.decode(outer, { decoders, memoryLimit: 64 * MIB }))).equals(plain));
      });
    });
  }
});
