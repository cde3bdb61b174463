import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FormatError } from "../../formats/errors.ts";
import { MemberContent } from "../../importer/member-content.ts";
import { StreamWindow } from "../../importer/stream-window.ts";
import { readAll } from "../support/http-client.ts";

/** Eight bytes at a time, so that extents and reads do not meet. */
function windowOf(bytes: Uint8Array): StreamWindow {
  let at = 0;
  return new StreamWindow({
    read(into) {
      const piece = bytes.subarray(at, at + Math.min(8, into.length));
      into.set(piece);
      at += piece.length;
      return piece.length;
    },
    close: () => undefined,
  });
}

const OUTER = Buffer.from("0123456789abcdefghij");

describe("MemberContent", () => {
  it("puts the extents together, with zeros for what they leave out", async () => {
    const extents = [
      { offset: 2, length: 3, hostOffset: 1 },
      { offset: 5, length: 9, hostOffset: 6 },
      { offset: 20, length: 1, hostOffset: 19 },
    ];
    const content = new MemberContent({ name: "disk", size: 23, extents }, windowOf(OUTER));
    const bytes = await readAll({ read: (into) => content.read(into), close: () => undefined });
    assert.equal(bytes.toString("latin1"), `\0\x001236789abcde${"\0".repeat(6)}j\0\0`);
    assert.equal(await content.read(new Uint8Array(1)), 0);
  });

  it("fails where the archive ends first", async () => {
    const member = { name: "disk", size: 30, extents: [{ offset: 0, length: 30, hostOffset: 0 }] };
    const content = new MemberContent(member, windowOf(OUTER));
    await assert.rejects(readAll({ read: (into) => content.read(into), close: () => undefined }), (error) => {
      return error instanceof FormatError && error.code === "FORMAT_CORRUPT" && /inside its member/.test(error.message);
    });
  });
});
