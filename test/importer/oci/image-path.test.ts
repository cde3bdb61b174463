import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { baseOf, folderOf, imagePath, isBelow, linkTarget } from "../../../importer/oci/image-path.ts";

describe("imagePath", () => {
  it("takes every way to write a path for the same one, and stays in the root", () => {
    for (const name of ["disk/a", "./disk/a", "/disk/a", "//disk/./a/", "x/../disk/a", "../../disk/a"]) {
      assert.equal(imagePath(name), "disk/a", name);
    }
    assert.deepEqual(["/", ".", "..", "a/.."].map(imagePath), ["", "", "", ""]);
  });
});

describe("linkTarget", () => {
  it("starts at the link's folder or at the root, and cannot leave it", () => {
    assert.equal(linkTarget("disk/x", "a.img"), "disk/a.img");
    assert.equal(linkTarget("disk/x", "../images/a.img"), "images/a.img");
    assert.equal(linkTarget("disk/x", "/images/a.img"), "images/a.img");
    assert.equal(linkTarget("disk/x", "../../../../etc/shadow"), "etc/shadow");
    assert.equal(linkTarget("disk", "images"), "images");
  });
});

describe("folderOf, baseOf and isBelow", () => {
  it("know the root", () => {
    assert.deepEqual([folderOf("a/b/c"), folderOf("a"), baseOf("a/b"), baseOf("a")], ["a/b", "", "b", "a"]);
    const below = [isBelow("disk/a", "disk"), isBelow("disk", "disk"), isBelow("diskette/a", "disk"), isBelow("a", "")];
    assert.deepEqual(below, [true, false, false, true]);
  });
});
