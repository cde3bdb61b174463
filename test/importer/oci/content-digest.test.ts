import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SourceError } from "../../../importer/errors.ts";
import { checkContent, checkHash, parseContentDigest } from "../../../importer/oci/content-digest.ts";
import { createHash } from "node:crypto";

const EMPTY = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

describe("parseContentDigest", () => {
  it("knows sha256 and sha512 of the right length, in small letters", () => {
    assert.equal(parseContentDigest(EMPTY)?.hex, EMPTY.slice(7));
    assert.equal(parseContentDigest(`sha512:${"a".repeat(128)}`)?.algorithm, "sha512");
    const bad = [
      "",
      "sha256:",
      EMPTY.slice(0, -1),
      `${EMPTY}0`,
      EMPTY.toUpperCase(),
      `md5:${"0".repeat(32)}`,
      `x/${EMPTY}`,
    ];
    for (const text of bad) assert.equal(parseContentDigest(text), undefined, text);
  });
});

describe("checkContent and checkHash", () => {
  it("fail where the content is another", () => {
    const digest = parseContentDigest(EMPTY);
    assert.ok(digest !== undefined);
    checkContent(new Uint8Array(0), digest, "blob");
    checkHash(createHash("sha256"), digest, "blob");
    assert.throws(
      () => checkContent(Buffer.from("x"), digest, "blob"),
      (error) => {
        assert.ok(error instanceof SourceError);
        assert.equal(error.code, "SOURCE_CHECKSUM");
        assert.match(error.message, /^blob has the digest sha256:2d711642\w+, not sha256:e3b0c442/);
        assert.equal(error.context["expected"], EMPTY.slice(7));
        return true;
      },
    );
  });
});
