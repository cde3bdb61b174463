import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import { ChecksummedStream, parseChecksum } from "../../importer/checksum.ts";
import { SourceError, UsageError } from "../../importer/errors.ts";
import { CountedInput } from "../suites/codec.ts";

const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, i) => i % 253));

function digest(algorithm: string): string {
  return createHash(algorithm).update(bytes).digest("hex");
}

describe("parseChecksum", () => {
  it("takes four algorithms, in any case", () => {
    for (const algorithm of ["md5", "sha1", "sha256", "sha512"] as const) {
      const hex = digest(algorithm);
      assert.deepEqual(parseChecksum(`${algorithm}:${hex}`), { algorithm, hex });
      assert.deepEqual(parseChecksum(`${algorithm.toUpperCase()}:${hex.toUpperCase()}`), { algorithm, hex });
      assert.deepEqual(parseChecksum(` ${algorithm} : ${hex}\n`), { algorithm, hex });
    }
  });

  it("says what is wrong with anything else", () => {
    const rows: readonly [string, RegExp][] = [
      ["", /not of the form/],
      [digest("sha256"), /not of the form/],
      [`sha3:${digest("sha256")}`, /not of the form md5\|sha1\|sha256\|sha512:hex/],
      [`sha256:${digest("sha256")}:`, /not of the form/],
      [`constructor:${digest("sha256")}`, /not of the form/],
      [`sha256:${digest("sha1")}`, /sha256 checksum has 64 hexadecimal digits/],
      [`md5:${"g".repeat(32)}`, /32 hexadecimal digits/],
      ["sha1:", /40 hexadecimal digits/],
    ];
    for (const [text, sentence] of rows) {
      assert.throws(
        () => parseChecksum(text),
        (error) => error instanceof UsageError && sentence.test(error.message),
        text,
      );
    }
  });
});

describe("ChecksummedStream", () => {
  it("agrees on the bytes that were served, and reads what nobody has read", async () => {
    for (const later of [false, true]) {
      for (const algorithm of ["md5", "sha1", "sha256", "sha512"] as const) {
        const input = new CountedInput(bytes, 4093, later);
        const stream = new ChecksummedStream(input, { algorithm, hex: digest(algorithm) });
        const into = Buffer.alloc(1000);
        const count = await stream.read(into);
        assert.ok(into.subarray(0, count).equals(bytes.subarray(0, count)));
        await stream.verify();
        assert.equal(await stream.read(into), 0);
      }
    }
  });

  it("says both when they differ", async () => {
    const other = { algorithm: "sha1", hex: "0".repeat(40) } as const;
    await assert.rejects(new ChecksummedStream(new CountedInput(bytes), other).verify(), (error) => {
      assert.ok(error instanceof SourceError);
      assert.equal(error.code, "SOURCE_CHECKSUM");
      assert.equal(error.message, `the source's sha1 is ${digest("sha1")}, not ${other.hex}`);
      assert.deepEqual(error.context, { algorithm: "sha1", expected: other.hex, actual: digest("sha1") });
      return true;
    });
  });
});
