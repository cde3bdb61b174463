import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { checkRangeAnswer, rangeHeaders } from "../../../importer/http/continuation.ts";
import { Place } from "../../../importer/http/place.ts";
import { representationOf } from "../../../importer/http/representation.ts";
import { SourceError } from "../../../importer/errors.ts";

const PLACE = Place.parse("http://host/disk");
const WHOLE = representationOf(new Headers({ etag: '"a"', "content-length": "1000" }), 0);

function check(status: number, headers: Record<string, string>, end?: number, whole = WHOLE): unknown {
  try {
    return checkRangeAnswer({ status, headers: new Headers(headers) }, { start: 100, end }, whole, PLACE);
  } catch (error) {
    assert.ok(error instanceof SourceError);
    return error.code;
  }
}

describe("rangeHeaders", () => {
  it("asks half open ranges in HTTP's way, on the condition that nothing changed", () => {
    assert.deepEqual(rangeHeaders({ start: 5, end: 10 }, WHOLE), { Range: "bytes=5-9", "If-Range": '"a"' });
    assert.deepEqual(rangeHeaders({ start: 5, end: undefined }, representationOf(new Headers(), 0)), {
      Range: "bytes=5-",
    });
  });
});

describe("checkRangeAnswer", () => {
  it("takes the rest, or the start of it", () => {
    assert.deepEqual(check(206, { "content-range": "bytes 100-999/1000" }), { end: 1000, total: 1000 });
    assert.deepEqual(check(206, { "content-range": "bytes 100-199/*", "content-length": "100", etag: '"a"' }, 300), {
      end: 200,
      total: 1000,
    });
    const unknown = representationOf(new Headers(), 0);
    assert.deepEqual(check(206, { "content-range": "bytes 100-999/1000" }, undefined, unknown), {
      end: 1000,
      total: 1000,
    });
  });

  for (const [code, status, headers, end] of [
    ["SOURCE_UNAVAILABLE", 206, { "content-range": "bytes 100-300/1000" }, 300],
    ["SOURCE_UNAVAILABLE", 206, { "content-range": "bytes 99-200/1000" }, undefined],
    ["SOURCE_UNAVAILABLE", 206, { "content-range": "bytes 100-199/1000", "content-length": "99" }, undefined],
    ["SOURCE_UNAVAILABLE", 206, { "content-type": "multipart/byteranges" }, undefined],
    ["SOURCE_CHANGED", 206, { "content-range": "bytes 100-199/1001" }, undefined],
    ["SOURCE_CHANGED", 206, { "content-range": "bytes 100-999/1000", etag: '"b"' }, undefined],
    ["SOURCE_CHANGED", 416, { "content-range": "bytes */1000" }, undefined],
    ["SOURCE_CHANGED", 412, {}, undefined],
    ["SOURCE_CHANGED", 200, { "content-length": "1000" }, undefined],
    ["SOURCE_CHANGED", 200, { "content-length": "1000", etag: '"b"' }, undefined],
    ["SOURCE_TRUNCATED", 200, { "content-length": "1000", etag: '"a"' }, undefined],
  ] as const) {
    it(`answers ${status} ${JSON.stringify(headers)} with ${code}`, () => {
      assert.equal(check(status, headers as Record<string, string>, end), code);
    });
  }
});
