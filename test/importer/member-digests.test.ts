import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hashBytes, MemberDigests } from "../../importer/member-digests.ts";

// From RFC 3174 and FIPS 180-2.
const ABC = {
  sha1: "a9993e364706816aba3e25717850c26c9cd0d89d",
  sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
} as const;

describe("MemberDigests", () => {
  it("computes all that were asked for as the content passes", () => {
    const digests = new MemberDigests(["sha1", "sha256"]);
    for (const piece of ["a", "", "bc"]) digests.update(Buffer.from(piece));
    assert.deepEqual([...digests.finish()], Object.entries(ABC));
    assert.equal(new MemberDigests([]).finish().size, 0);
  });

  it("agrees with the digest of bytes that are all there", () => {
    for (const [algorithm, hex] of Object.entries(ABC)) {
      assert.equal(hashBytes(algorithm as keyof typeof ABC, Buffer.from("abc")), hex);
    }
  });
});
