import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MAX_MANIFEST_LENGTH, parseManifest } from "../../../formats/archives/manifest.ts";
import { FormatError } from "../../../formats/errors.ts";
import type { FormatErrorCode } from "../../../formats/errors.ts";

const hex = (length: number): string => "0123456789abcdef".repeat(8).slice(0, length);

function assertRefused(text: string, code: FormatErrorCode, message: RegExp): void {
  assert.throws(
    () => parseManifest(Buffer.from(text)),
    (error) => error instanceof FormatError && error.code === code && message.test(error.message),
  );
}

describe("parseManifest", () => {
  it("reads the forms that tools write", () => {
    const text = `SHA256(vm.ovf)= ${hex(64)}\r\nSHA1 (disk (1).vmdk) = ${hex(40).toUpperCase()}\n\nsha512(c)=${hex(128)}\nSHA2-256(d)= ${hex(64)}`;
    assert.deepEqual(
      [...parseManifest(Buffer.from(text))],
      [
        ["vm.ovf", { algorithm: "sha256", hex: hex(64) }],
        ["disk (1).vmdk", { algorithm: "sha1", hex: hex(40) }],
        ["c", { algorithm: "sha512", hex: hex(128) }],
        ["d", { algorithm: "sha256", hex: hex(64) }],
      ],
    );
    assert.equal(parseManifest(new Uint8Array(0)).size, 0);
  });

  it("refuses what is no digest, and algorithms by name", () => {
    assertRefused(`SHA256(a)= ${hex(40)}`, "FORMAT_INVALID", /line 1 .* wrong digest/);
    assertRefused(`SHA1(a)= ${hex(40)}\nSHA1(a)= ${"0".repeat(40)}`, "FORMAT_INVALID", /line 2 .* wrong digest/);
    assertRefused("\nManifest-Version: 1.0\n", "FORMAT_INVALID", /line 2 .* is no digest/);
    assertRefused(`MD5(a)= ${hex(32)}`, "FORMAT_UNSUPPORTED", /"MD5", not SHA1/);
    assertRefused(`constructor(a)= ${hex(32)}`, "FORMAT_UNSUPPORTED", /"constructor"/);
    assertRefused(" ".repeat(MAX_MANIFEST_LENGTH + 1), "FORMAT_OUT_OF_BOUNDS", /1048577 bytes/);
    assertRefused(`SHA1(${")= 0".repeat(200_000)}!`, "FORMAT_INVALID", /no digest/);
  });
});
