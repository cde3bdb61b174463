import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isSame, representationOf } from "../../../importer/http/representation.ts";

const NOON = "Wed, 21 Oct 2015 12:00:00 GMT";

function of(headers: Record<string, string>, nowMs = 0) {
  return representationOf(new Headers(headers), nowMs);
}

describe("representationOf", () => {
  it("lets a strong ETag vouch, then a date of a minute or more", () => {
    assert.equal(of({ etag: '"a"', "last-modified": NOON, date: "Wed, 21 Oct 2015 13:00:00 GMT" }).validator, '"a"');
    for (const etag of ['W/"a"', "a", '"a', '""b"']) assert.equal(of({ etag }).validator, undefined, etag);
    const dated = (date: string) => of({ etag: 'W/"a"', "last-modified": NOON, date }).validator;
    assert.equal(dated("Wed, 21 Oct 2015 12:01:00 GMT"), NOON);
    assert.equal(dated("Wed, 21 Oct 2015 12:00:59 GMT"), undefined);
    assert.equal(
      of({ "last-modified": NOON }, Date.parse(NOON) + 60_000).validator,
      NOON,
      "our clock, where the server has none",
    );
    assert.equal(of({ "last-modified": "yesterday" }, 1e15).validator, undefined);
  });

  it("reads length, ranges and type", () => {
    assert.deepEqual(of({ "content-length": "12", "accept-ranges": "Bytes", "content-type": "a/b" }), {
      size: 12,
      validator: undefined,
      etag: undefined,
      lastModified: undefined,
      ranges: "bytes",
      contentType: "a/b",
    });
    assert.deepEqual([of({}).size, of({}).ranges], [undefined, "unsaid"]);
    assert.equal(of({ "accept-ranges": "none" }).ranges, "none");
    for (const length of ["-1", "1e3", "99999999999999999", ""])
      assert.equal(of({ "content-length": length }).size, undefined);
  });
});

describe("isSame", () => {
  it("compares what both say", () => {
    const first = of({ etag: '"a"', "last-modified": NOON });
    assert.equal(isSame(first, of({})), true);
    assert.equal(isSame(first, of({ etag: '"a"' })), true);
    assert.equal(isSame(first, of({ etag: '"b"', "last-modified": NOON })), false);
    assert.equal(isSame(first, of({ "last-modified": "Wed, 21 Oct 2015 12:00:01 GMT" })), false);
    assert.equal(isSame(of({ etag: 'W/"a"' }), of({ etag: 'W/"b"' })), false);
  });
});
