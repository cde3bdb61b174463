import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { guidAt, isNilGuid, sameGuid } from "../../../formats/vhdx/guid.ts";

describe("guid", () => {
  // The BAT region's GUID as a file holds it.
  const bytes = Buffer.from("ff6677c22d23f600429d64115e9bfd4a08", "hex");

  it("is printed with its first three fields swapped", () => {
    assert.equal(guidAt(bytes, 1), "2DC27766-F623-4200-9D64-115E9BFD4A08");
  });

  it("is compared byte by byte", () => {
    assert.ok(sameGuid(bytes, 1, Buffer.from(bytes.subarray(1)), 0));
    assert.ok(!sameGuid(bytes, 1, bytes, 0));
    assert.ok(isNilGuid(new Uint8Array(20), 4));
    assert.ok(!isNilGuid(bytes, 1));
  });
});
