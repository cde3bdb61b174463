import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { UsageError } from "../../../importer/errors.ts";
import { Place } from "../../../importer/http/place.ts";

describe("Place", () => {
  it("keeps user info, fragment and query out of its name", () => {
    const place = Place.parse("http://me:pw@host/a?b#c");
    assert.deepEqual(
      [place.name, place.first.href, place.auth],
      ["http://host/a", "http://host/a?b", { user: "me", password: "pw" }],
    );
    assert.deepEqual([place.current, place.isTrusted, place.isPinned], [place.first, true, false]);
  });

  it("remembers where redirects led, until they are followed again", () => {
    const place = Place.parse("http://host/a");
    place.pin(new URL("http://blobs/b"), false);
    assert.deepEqual([place.current.href, place.isTrusted, place.isPinned], ["http://blobs/b", false, true]);
    place.unpin();
    assert.deepEqual([place.current.href, place.isTrusted, place.isPinned], ["http://host/a", true, false]);
  });

  it("crosses to another thread", () => {
    const place = Place.parse("http://me:pw@host/a?b");
    assert.equal(Place.fromSpec(structuredClone(place.spec)).isPinned, false);
    place.pin(new URL("http://blobs/b"), false);
    const other = Place.fromSpec(structuredClone(place.spec));
    assert.deepEqual(other.spec, place.spec);
    assert.deepEqual(
      [other.name, other.current.href, other.isTrusted, other.isPinned],
      ["http://host/a", "http://blobs/b", false, true],
    );
  });

  it("shows another name in the place of a secret path, in every thread", () => {
    const place = Place.parse("https://host/images/secret", "disk 1");
    const other = Place.fromSpec(structuredClone(place.spec));
    assert.deepEqual([other.name, other.isSecret, other.current.pathname], ["disk 1", true, "/images/secret"]);
    assert.throws(() => Place.parse("ftp://host/secret", "disk 1"), { message: /^disk 1 is neither/ });
  });

  it("refuses other schemes", () => {
    for (const url of ["ftp://host/", "disk.raw", ""]) assert.throws(() => Place.parse(url), UsageError);
  });
});
