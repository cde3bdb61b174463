import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  BLOCK,
  isZero,
  readHeader,
  readNumber,
  startsAsTar,
  textToNul,
} from "../../../../formats/archives/tar/header.ts";
import { FormatError } from "../../../../formats/errors.ts";
import { base256, octal, tarHeader } from "../../../support/build-tar.ts";

describe("readHeader", () => {
  it("reads name, size, type, link and layout", () => {
    for (const magic of ["ustar", "gnu", "v7"] as const) {
      const block = tarHeader({
        name: "n".repeat(100),
        type: "7",
        size: 12,
        magic,
        prefix: "p",
        link: "l".repeat(100),
      });
      const name = `${magic === "ustar" ? "p/" : ""}${"n".repeat(100)}`;
      assert.deepEqual(readHeader(block, 0), { name, size: 12, type: "7", link: "l".repeat(100), layout: magic });
    }
  });

  it("refuses a block with one bit changed", () => {
    for (let at = 0; at < BLOCK; at += 7) {
      const block = tarHeader({ name: "disk", size: 12 });
      block[at] = (block[at] ?? 0) ^ 0x40;
      assert.throws(
        () => readHeader(block, 512),
        (error) =>
          error instanceof FormatError && error.code === "FORMAT_CORRUPT" && /header at 512 /.test(error.message),
      );
    }
  });
});

describe("readNumber", () => {
  const read = (bytes: Uint8Array): number => readNumber(bytes, [0, 12], "it");

  it("reads octal and base-256", () => {
    const texts: [string, number][] = [
      ["00000001750\0", 1000],
      ["       1750 ", 1000],
      ["777777777777", 2 ** 36 - 1],
      ["1 \0\0", 1],
      ["", 0],
    ];
    for (const [text, value] of texts) assert.equal(read(Buffer.from(text.padEnd(12, "\0"))), value, text);
    for (const value of [0, 1, 2 ** 33, Number.MAX_SAFE_INTEGER]) assert.equal(read(base256(value, 12)), value);
    assert.equal(read(octal(8 ** 11 - 1, 12)), 8 ** 11 - 1);
  });

  it("refuses the rest", () => {
    for (const text of ["-1", "8", "1 1", "1x", "0x10"]) {
      assert.throws(() => read(Buffer.from(text.padEnd(12, "\0"))), /it is not an octal number/, text);
    }
    assert.throws(() => read(base256(2 ** 53, 12)), /2\^53 - 1/);
    assert.throws(() => read(Buffer.alloc(12, 0xff)), /negative/);
  });
});

describe("text and zeros", () => {
  it("end where they should", () => {
    assert.equal(textToNul(Buffer.from("a\u00e4\0b")), "a\u00e4");
    assert.equal(textToNul(Buffer.from("ab")), "ab");
    assert.equal(textToNul(Uint8Array.of(0x61, 0xff)), "a\udcff");
    assert.equal(isZero(new Uint8Array(9)), true);
    assert.equal(isZero(Uint8Array.of(0, 0, 1)), false);
  });
});

describe("startsAsTar", () => {
  it("knows each layout, with right and with wrong checksums where there is a magic", () => {
    for (const magic of ["ustar", "gnu", "v7"] as const) {
      const header = tarHeader({ name: "disk.img", magic, size: 5 });
      assert.equal(startsAsTar(header), true, magic);
      header[0] = 0x65;
      assert.equal(startsAsTar(header), magic !== "v7", `${magic}, damaged`);
      assert.equal(startsAsTar(header.subarray(0, 511)), false);
    }
  });

  it("does not claim disks", () => {
    const boot = new Uint8Array(65_536).map((_, i) => (i * 17) & 0xff);
    boot.set([0x55, 0xaa], 510);
    assert.equal(startsAsTar(boot), false);
    assert.equal(startsAsTar(new Uint8Array(65_536)), false);
    assert.equal(startsAsTar(new Uint8Array(65_536).fill(0x20)), false);
    const text = Buffer.alloc(65_536, "0");
    assert.equal(startsAsTar(text), false);
  });

  it("wants a v7 header to make sense where its checksum holds by chance", () => {
    const spoil: [string, (block: Uint8Array) => void][] = [
      ["type", (block) => block.fill(0x78, 156, 157)],
      ["mode", (block) => block.fill(0x78, 100, 101)],
      ["name", (block) => block.fill(0, 0, 100)],
      ["padding", (block) => block.fill(1, 400, 401)],
    ];
    for (const [title, patch] of spoil)
      assert.equal(startsAsTar(tarHeader({ name: "a", magic: "v7", patch })), false, title);
  });
});
