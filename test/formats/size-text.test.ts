import assert from "node:assert/strict";
import { it } from "node:test";
import { sizeText } from "../../formats/size-text.ts";

it("shows a size in the largest unit of which it is a whole number", () => {
  const MIB = 1024 * 1024;
  for (const [bytes, text] of [
    [0, "0 bytes"],
    [512, "512 bytes"],
    [1024, "1 KiB"],
    [1536, "1536 bytes"],
    [65536, "64 KiB"],
    [2 * MIB, "2 MiB"],
    [1536 * MIB, "1536 MiB"],
    [1024 * MIB, "1 GiB"],
  ] as const) {
    assert.equal(sizeText(bytes), text);
  }
});
