import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { chooseRows, memoryBound, nameOf, PLACES, ROWS } from "../../bench/goals.ts";
import type { Row } from "../../bench/goals.ts";
import { contendersBeside } from "../../bench/limits.ts";
import { DISKS, recipesFor } from "../../bench/recipes.ts";
import { choosePeers } from "../../cmd/bench/peers.ts";
import type { Subject } from "../../cmd/bench/peers.ts";

const WRAPPERS: Readonly<Record<string, string>> = { gz: "gzip", zst: "zstd", xz: "xz" };

const BESIDE = { threads: 2, isDiskKept: true, withLimits: true };

/** What decant would find out about a row's image. */
function subjectOf({ image, place }: Row): Subject {
  const parts = image.split(".");
  const wrappers = parts.flatMap((part) => WRAPPERS[part] ?? []);
  const format = parts.find((part) => ["qcow2", "vmdk", "vhdx", "vdi"].includes(part)) ?? "raw";
  const places = { local: "file", http: "http", "http 20 ms": "http", registry: "registry" } as const;
  return {
    place: places[place],
    isLoopback: true,
    wrappers,
    format: image.endsWith(".vhd") ? "vpc" : format,
    virtualSize: 1,
  };
}

describe("ROWS", () => {
  it("compares each work with a line that can read it", () => {
    for (const row of ROWS) {
      const { contenders } = choosePeers(subjectOf(row), "file", undefined, () => true);
      const names = [...contenders, ...contendersBeside(row, BESIDE)].map(({ name }) => name);
      assert.ok(names.includes(row.line), `${nameOf(row)}: ${row.line} is none of ${names.join(", ")}`);
      assert.equal(new Set(names).size, names.length, `${nameOf(row)}: a name twice`);
    }
  });

  it("names files that the corpus has", () => {
    const known = [...DISKS, ...Object.keys(recipesFor("full"))];
    assert.deepEqual(
      ROWS.map(({ image }) => image).filter((image) => !known.includes(image)),
      [],
    );
  });

  it("has no work twice", () => {
    assert.equal(new Set(ROWS.map(nameOf)).size, ROWS.length);
  });

  it("has every place in the quick works, too", () => {
    const places = new Set(chooseRows(ROWS, true, [""]).map(({ place }) => place));
    assert.deepEqual([...places], [...PLACES]);
  });
});

describe("chooseRows", () => {
  it("takes all, or those that are quick", () => {
    assert.deepEqual(chooseRows(ROWS, false, [""]), ROWS);
    assert.deepEqual(
      chooseRows(ROWS, true, [""]),
      ROWS.filter(({ isQuick }) => isQuick),
    );
  });

  it("takes what is named by a part, quick or not", () => {
    assert.deepEqual(chooseRows(ROWS, true, ["zlib.qcow2 registry", "vhdx"]).map(nameOf), [
      "dynamic.vhdx local",
      "zlib.qcow2 registry",
    ]);
    assert.deepEqual(chooseRows(ROWS, false, ["nothing"]), []);
  });
});

describe("memoryBound", () => {
  it("grows with each thread above two, and by the window", () => {
    assert.equal(memoryBound({ window: 0 }, 1), 150e6);
    assert.equal(memoryBound({ window: 0 }, 2), 150e6);
    assert.equal(memoryBound({ window: 1000 }, 4), 174_001_000);
  });
});
