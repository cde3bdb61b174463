import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { crc32cOfStructure } from "../../../formats/vhdx/structure-checksum.ts";
import { baseDisk } from "../../support/base-disk.ts";
import { slowCrc32c } from "../../support/build-vhdx.ts";

describe("crc32cOfStructure", () => {
  it("takes a structure's own checksum for zeros", () => {
    const structure = Buffer.from(baseDisk(4096).subarray(0, 64));
    const expected = crc32cOfStructure(structure);
    structure.writeUInt32LE(0, 4);
    assert.equal(slowCrc32c(structure), expected);
  });
});
