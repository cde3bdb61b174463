import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SourceError } from "../../../importer/errors.ts";
import { isRedirect, nextHop } from "../../../importer/http/redirects.ts";
import type { Hop } from "../../../importer/http/redirects.ts";

function follow(first: string, ...locations: (string | null)[]): Hop {
  const hops: Hop[] = [{ url: new URL(first), isTrusted: true }];
  for (const location of locations) hops.push(nextHop(hops, location, { allowsDowngrade: false }));
  return hops.at(-1) as Hop;
}

function refuses(code: string, first: string, ...locations: (string | null)[]): void {
  assert.throws(
    () => follow(first, ...locations),
    (error) => error instanceof SourceError && error.code === code,
  );
}

describe("nextHop", () => {
  it("resolves what is relative, and drops user info and fragment", () => {
    assert.equal(follow("http://a/b/c?d", "e").url.href, "http://a/b/e");
    assert.equal(follow("http://a/b", "//c/d?e#f").url.href, "http://c/d?e");
    assert.equal(follow("http://a/b", "http://me:pw@c/").url.href, "http://c/");
  });

  it("trusts the same origin only, and never again after another one", () => {
    assert.equal(follow("http://a/1", "/2", "http://a:80/3").isTrusted, true);
    assert.equal(follow("http://a/1", "http://a:81/2").isTrusted, false);
    assert.equal(follow("http://a/1", "https://a/2").isTrusted, false);
    assert.equal(follow("http://a/1", "http://b.a/2").isTrusted, false);
    assert.equal(follow("http://a/1", "http://b/2", "http://a/3").isTrusted, false);
  });

  it("refuses circles, too many, other schemes, and to give up encryption", () => {
    refuses("SOURCE_UNAVAILABLE", "http://a/1", "/2", "/1");
    refuses("SOURCE_UNAVAILABLE", "http://a/1", "/1#again");
    refuses("SOURCE_UNAVAILABLE", "http://a/0", ...Array.from({ length: 11 }, (_, i) => `/${i + 1}`));
    follow("http://a/0", ...Array.from({ length: 10 }, (_, i) => `/${i + 1}`));
    for (const location of [null, "ftp://a/", "file:///etc/passwd", "http://["])
      refuses("SOURCE_UNAVAILABLE", "http://a/", location);
    refuses("SOURCE_TLS", "https://a/", "http://a/");
    const hops = [{ url: new URL("https://a/"), isTrusted: true }];
    assert.equal(nextHop(hops, "http://a/", { allowsDowngrade: true }).isTrusted, false);
  });

  it("is for five statuses", () => {
    assert.deepEqual([300, 301, 302, 303, 304, 305, 307, 308].filter(isRedirect), [301, 302, 303, 307, 308]);
  });
});
