import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseHeaderExtensions } from "../../../formats/qcow2/header-extensions.ts";
import { extension, featureNames } from "../../support/build-qcow2.ts";

const FEATURE_NAMES = 0x6803_f857;
const BITMAPS = 0x2385_2875;

function headOf(...extensions: readonly Buffer[]): Buffer {
  const head = Buffer.alloc(4096);
  Buffer.concat(extensions).copy(head, 104);
  return head;
}

describe("qcow2 header extensions", () => {
  it("are passed over by their padded length", () => {
    const head = headOf(
      extension(1, Buffer.from("odd")),
      extension(2, Buffer.alloc(0)),
      extension(BITMAPS, Buffer.from([0, 0, 0, 3, 0, 0, 0, 0])),
      extension(FEATURE_NAMES, featureNames([0, 9, "nine"], [2, 8, "autoclear"])),
    );
    const { bitmapCount, incompatibleNames } = parseHeaderExtensions(head, 104, 65536);
    assert.equal(bitmapCount, 3);
    assert.deepEqual([...incompatibleNames], [[9, "nine"]]);
  });

  it("end at type 0", () => {
    const head = headOf(extension(0, Buffer.alloc(0)), extension(BITMAPS, Buffer.from([0, 0, 0, 3])));
    assert.equal(parseHeaderExtensions(head, 104, 65536).bitmapCount, 0);
  });

  it("must end in the first cluster", () => {
    const head = headOf(extension(1, Buffer.alloc(8)));
    head.writeUInt32BE(4096 - 112 + 1, 108);
    assert.throws(() => parseHeaderExtensions(head, 104, 4096), { code: "FORMAT_INVALID" });
    head.writeUInt32BE(0xffff_ffff, 108);
    assert.throws(() => parseHeaderExtensions(head, 104, 2 ** 21), { code: "FORMAT_INVALID" });
  });

  it("may be longer than what is looked at of a large cluster", () => {
    const head = headOf(extension(1, Buffer.alloc(8)));
    head.writeUInt32BE(100_000, 108);
    assert.equal(parseHeaderExtensions(head, 104, 2 ** 21).bitmapCount, 0);
  });
});
