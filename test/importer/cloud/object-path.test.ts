import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { checkObject, encodeKey, splitPath, splitUrl } from "../../../importer/cloud/object-path.ts";
import { UsageError } from "../../../importer/errors.ts";

describe("object path", () => {
  it("encodes every byte but the unreserved ones and slashes, and a URL keeps that", () => {
    const keys: readonly (readonly [key: string, encoded: string])[] = [
      ["a/b//c", "a/b//c"],
      ["a b+c&d=e", "a%20b%2Bc%26d%3De"],
      ["ä€😀", "%C3%A4%E2%82%AC%F0%9F%98%80"],
      ["!'()*~-._", "%21%27%28%29%2A~-._"],
      ["100%", "100%25"],
      ["a?b#c", "a%3Fb%23c"],
      ["a..b/...", "a..b/..."],
      ["\u0001\\", "%01%5C"],
    ];
    for (const [key, encoded] of keys) {
      assert.equal(encodeKey(key), encoded);
      const sent = new URL(`http://host/bucket/${encodeKey(key)}`).pathname;
      assert.equal(sent, `/bucket/${encoded}`);
      assert.equal(splitUrl(`http://host/bucket/${encoded}`).path, `bucket/${key}`);
    }
    assert.doesNotThrow(() => encodeKey("\ud800"), "half a character");
  });

  it("does not resolve what a URL resolves, and leaves its query out", () => {
    assert.equal(splitUrl("https://host:1/b/x/../y/%2e%2e/z?a=b#c").path, "b/x/../y/../z");
    assert.equal(splitUrl("HTTPS://Host//b//k/").path, "b//k");
    assert.equal(splitUrl("http://host").path, "");
    assert.equal(splitUrl("http://me:secret@host/b/k").origin.host, "host");
  });

  it("refuses what is no URL without showing it", () => {
    for (const text of [
      "ftp://secret/b",
      "secret",
      "http://sec ret/b",
      "http:///",
      "http://host/%secret",
      "http://host/%ff",
    ]) {
      assert.throws(
        () => splitUrl(text),
        (error) => error instanceof UsageError && !error.message.includes("secret"),
      );
    }
  });

  it("splits a path at its first slash", () => {
    assert.deepEqual(splitPath("b/k/l"), { bucket: "b", key: "k/l" });
    assert.deepEqual(splitPath("b//k"), { bucket: "b", key: "/k" });
    assert.deepEqual(splitPath("b"), { bucket: "b", key: "" });
  });

  it("refuses objects that no URL leads to, which is better than another object", () => {
    for (const [bucket, key] of [
      ["", "k"],
      ["b", ""],
      ["b", ".."],
      ["b", "a/../c"],
      ["b", "./a"],
      ["..", "a"],
      ["b", "a/."],
    ] as const) {
      assert.throws(() => checkObject("name", bucket, key), UsageError);
    }
    for (const key of ["a..b", "...", ".a", "a.", "a//b", " "]) checkObject("name", "b", key);
  });
});
