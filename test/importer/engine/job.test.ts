import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ITEM, ITEM_FIELDS, itemEncoding, itemField, PLAIN, setItem } from "../../../importer/engine/job.ts";

describe("rows of a job", () => {
  it("keep every field of an encoded extent, also beyond 32 bits", () => {
    for (const encoding of ["deflate", "zlib", "zstd", "vmdk-grain"] as const) {
      const items = new Float64Array(3 * ITEM_FIELDS);
      const stored = { encoding, offset: 2 ** 45 + 1, length: 777, decodedLength: 65_536, skip: 4096 };
      setItem(items, 1, { offset: 2 ** 50 + 512, length: 1024, stored }, 2 ** 45 + 1);
      assert.equal(itemEncoding(items, 1), encoding);
      const fields = [ITEM.offset, ITEM.length, ITEM.storedAt, ITEM.storedLength, ITEM.decodedLength, ITEM.skip];
      assert.deepEqual(
        fields.map((field) => itemField(items, 1, field)),
        [2 ** 50 + 512, 1024, 2 ** 45 + 1, 777, 65_536, 4096],
      );
      assert.ok([...items.subarray(0, ITEM_FIELDS), ...items.subarray(2 * ITEM_FIELDS)].every((field) => field === 0));
    }
  });

  it("give plain data the length that it is stored with, and nothing to skip", () => {
    const items = new Float64Array(ITEM_FIELDS).fill(9);
    setItem(items, 0, { offset: 1, length: 5, stored: { encoding: "plain", offset: 3, length: 5 } }, 40);
    assert.deepEqual([...items], [PLAIN, 1, 5, 40, 5, 5, 0]);
    assert.throws(() => itemEncoding(items, 0), /not encoded/);
  });
});
