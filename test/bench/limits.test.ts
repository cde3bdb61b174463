import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ROWS } from "../../bench/goals.ts";
import type { Place } from "../../bench/goals.ts";
import { contendersBeside } from "../../bench/limits.ts";

function namesFor(image: string, place: Place, isDiskKept = true, withLimits = true): string[] {
  const row = ROWS.find((one) => one.image === image && one.place === place);
  assert.ok(row !== undefined, `${image} ${place}`);
  return contendersBeside(row, { threads: 2, isDiskKept, withLimits }).map(({ name }) => name);
}

describe("contendersBeside", () => {
  it("is the disk where nothing is decoded, and nothing comes by the network", () => {
    assert.deepEqual(namesFor("plain.qcow2", "local"), ["disk alone: cp"]);
    assert.deepEqual(namesFor("empty.qcow2", "local", false), []);
  });

  it("is the decoder of what is packed, and decant's portable ones", () => {
    const portable = "decant, 2 threads, portable";
    const decant = "decoder alone: decant to null:";
    for (const image of ["zlib.qcow2", "zstd-2m.qcow2", "stream-optimized.vmdk"]) {
      assert.deepEqual(namesFor(image, "local"), [portable, decant, "disk alone: cp"]);
    }
    const decoders = {
      "raw.gz": "igzip -dc",
      "raw.zst": "zstd -dc",
      "qcow2.xz": "xz -dc",
      "blocks.qcow2.xz": "xz -T0 -dc",
    };
    for (const [image, decoder] of Object.entries(decoders)) {
      const rest = ["disk alone: cp", "network alone: curl"];
      assert.deepEqual(namesFor(image, "http"), [portable, `decoder alone: ${decoder}`, ...rest]);
    }
  });

  it("is the network", () => {
    assert.deepEqual(namesFor("plain.qcow2", "http 20 ms"), ["disk alone: cp", "network alone: curl"]);
    assert.deepEqual(namesFor("plain.qcow2", "registry"), ["disk alone: cp", "network alone: skopeo"]);
  });

  it("is the data alone for a disk that holds little", () => {
    assert.deepEqual(namesFor("spread-1t.qcow2", "local", false), ["decant over the data alone"]);
  });

  it("leaves out what no goal is about", () => {
    assert.deepEqual(namesFor("zlib.qcow2", "http", true, false), ["decant, 2 threads, portable"]);
    assert.deepEqual(namesFor("plain.qcow2", "http", true, false), []);
    assert.deepEqual(namesFor("spread-1t.qcow2", "local", false, false), ["decant over the data alone"]);
  });
});
