import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FormatError } from "../../../formats/errors.ts";
import { concerns, CoveredPaths } from "../../../importer/oci/covered-paths.ts";

const all = (): boolean => true;

/** What a layer with these whiteouts, and then others, hides of the next one. */
function after(...layers: (readonly string[])[]): CoveredPaths {
  const covered = new CoveredPaths();
  for (const whiteouts of layers) {
    for (const whiteout of whiteouts) assert.ok(covered.takeWhiteout(whiteout, all), whiteout);
    covered.endLayer();
  }
  return covered;
}

function hidden(covered: CoveredPaths, ...paths: string[]): boolean[] {
  return paths.map((path) => covered.hides(path, false));
}

describe("CoveredPaths", () => {
  it("hides what was removed and what lies below it", () => {
    const covered = after(["disk/.wh.a", ".wh.etc"]);
    assert.deepEqual(hidden(covered, "disk/a", "disk/a/b", "disk/b", "etc", "etc/x/y"), [
      true,
      true,
      false,
      true,
      true,
    ]);
  });

  it("hides what was in an opaque folder, not the folder", () => {
    const covered = after(["disk/.wh..wh..opq"]);
    assert.deepEqual(hidden(covered, "disk/a", "disk/a/b", "other"), [true, true, false]);
    assert.equal(covered.hides("disk", true), false);
    assert.deepEqual(hidden(after([".wh..wh..opq"]), "disk/a"), [true]);
  });

  it("hides nothing of the layer that says so", () => {
    const covered = new CoveredPaths();
    covered.takeWhiteout("disk/.wh.a", all);
    assert.equal(covered.hides("disk/a", false), false);
    covered.endLayer();
    assert.equal(covered.hides("disk/a", false), true);
  });

  it("lets folders shine through folders, and nothing else", () => {
    const covered = new CoveredPaths();
    covered.addFolder("disk");
    covered.replace("images");
    covered.endLayer();
    assert.deepEqual([covered.hides("disk", true), covered.hides("disk", false)], [false, true]);
    assert.deepEqual(hidden(covered, "disk/a", "images", "images/a"), [false, true, true]);
  });

  it("keeps what hides more, from whatever layer", () => {
    const covered = after([".wh.disk"], []);
    covered.addFolder("disk");
    covered.endLayer();
    assert.deepEqual(hidden(covered, "disk/a"), [true]);
    const remade = new CoveredPaths();
    remade.takeWhiteout(".wh.disk", all);
    remade.addFolder("disk");
    remade.endLayer();
    assert.deepEqual([remade.hides("disk", true), remade.hides("disk/a", false)], [false, true]);
  });

  it("passes over AUFS's own files and over what nobody asks for", () => {
    const covered = after(["disk/.wh..wh.plnk"]);
    assert.deepEqual(hidden(covered, "disk/.wh.plnk", "disk/plnk"), [false, false]);
    assert.equal(covered.takeWhiteout("disk/a", all), false);
    assert.equal(
      covered.takeWhiteout("etc/.wh.a", () => false),
      true,
    );
    covered.endLayer();
    assert.deepEqual(hidden(covered, "etc/a"), [false]);
  });

  it("remembers so much and no more", () => {
    const covered = new CoveredPaths();
    const name = "n".repeat(1024 * 1024);
    assert.throws(
      () => ["a", "b", "c", "d", "e"].forEach((letter) => covered.replace(letter + name)),
      (error) => error instanceof FormatError && error.code === "FORMAT_OUT_OF_BOUNDS",
    );
  });
});

describe("concerns", () => {
  it("takes the way to what is wanted, and what is in it where it is a folder", () => {
    const file = ["a", "a/b", "a/b/c", "a/x", "a/b/c/d"].map((path) => concerns(path, "a/b/c", false));
    assert.deepEqual(file, [true, true, true, false, false]);
    assert.deepEqual([concerns("disk/a", "disk", true), concerns("diskette/a", "disk", true)], [true, false]);
  });
});
