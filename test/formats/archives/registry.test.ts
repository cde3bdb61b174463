import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { archives, detectArchive } from "../../../formats/archives/registry.ts";
import { buildTar } from "../../support/build-tar.ts";

describe("detectArchive", () => {
  it("finds a tar, and nothing in zeros or in a few bytes", () => {
    assert.equal(detectArchive(buildTar([{ name: "a" }]))?.name, "tar");
    assert.equal(detectArchive(new Uint8Array(65_536)), undefined);
    assert.equal(detectArchive(Buffer.from("PK")), undefined);
  });

  it("knows each archive under a name of its own", () => {
    assert.equal(new Set(archives.map(({ name }) => name)).size, archives.length);
  });
});
