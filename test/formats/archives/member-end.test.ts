import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { checkMemberEnd, memberEnd } from "../../../formats/archives/member-end.ts";
import { tar } from "../../../formats/archives/tar/tar.ts";
import { FormatError } from "../../../formats/errors.ts";
import { walkArchive } from "../../support/archive.ts";
import { buildTar } from "../../support/build-tar.ts";

describe("a member that is cut off", () => {
  const file = buildTar([{ name: "disk", content: Buffer.alloc(1000, 1) }]);
  const member = walkArchive(tar, file).members[0] ?? { name: "", size: 0, extents: [] };

  it("is told by where its last byte should be", () => {
    assert.equal(memberEnd(member), 512 + 1000);
    checkMemberEnd(member, 512 + 1000);
    assert.throws(
      () => checkMemberEnd(member, 512 + 999),
      (error) =>
        error instanceof FormatError &&
        error.code === "FORMAT_CORRUPT" &&
        /ends at 1511, inside a member/.test(error.message),
    );
  });

  it("is never one of which nothing is stored", () => {
    const hole = { name: "hole", size: 2 ** 40, extents: [] };
    assert.equal(memberEnd(hole), 0);
    checkMemberEnd(hole, 0);
  });
});
