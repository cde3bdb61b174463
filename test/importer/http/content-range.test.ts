import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseContentRange } from "../../../importer/http/content-range.ts";

describe("parseContentRange", () => {
  it("reads ranges half open", () => {
    assert.deepEqual(parseContentRange("bytes 0-0/1"), { start: 0, end: 1, total: 1 });
    assert.deepEqual(parseContentRange(" Bytes 5-9/* "), { start: 5, end: 10, total: undefined });
    assert.deepEqual(parseContentRange("bytes */1000"), { start: undefined, end: undefined, total: 1000 });
  });

  it("refuses what contradicts itself or is too large", () => {
    for (const header of [
      null,
      "",
      "bytes",
      "items 0-1/2",
      "bytes 5-4/10",
      "bytes 0-10/10",
      "bytes -1-2/3",
      "bytes 0-1",
      "bytes 0-9007199254740991/*",
      "bytes 0-1/9007199254740992",
      "bytes 0-1/2, bytes 3-4/5",
    ]) {
      assert.equal(parseContentRange(header), undefined, String(header));
    }
  });
});
