import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  printable,
  refuseBackingFile,
  refuseEncryption,
  refuseIncompatible,
  refuseVersion,
} from "../../../formats/qcow2/refusals.ts";

describe("qcow2 refusals", () => {
  it("each have a name and a remedy", () => {
    for (const [error, name] of [
      [refuseVersion(1), "qcow version 1"],
      [refuseBackingFile(Buffer.from("base.raw")), '"base.raw"'],
      [refuseEncryption(1), "AES"],
      [refuseEncryption(2), "LUKS"],
      [refuseIncompatible(4, 0, new Map()), "external data file"],
      [refuseIncompatible(0x8000_0000 | 0, 1, new Map([[31, "last"]])), '"last" (bit 31), bit 32'],
    ] as const) {
      assert.equal(error.code, "FORMAT_UNSUPPORTED");
      assert.ok(error.message.includes(name), error.message);
      assert.match(error.remedy ?? "", /^[A-Z].*\.$/);
    }
  });

  it("print bytes of an image safely", () => {
    assert.equal(printable(Buffer.from("a\nb\x7f\x00\xff", "latin1"), 10), "a?b???");
    assert.equal(printable(Buffer.from("abcdef"), 3), "abc...");
    assert.equal(printable(Buffer.from("abc"), 3), "abc");
  });
});
