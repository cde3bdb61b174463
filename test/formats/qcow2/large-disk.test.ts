import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Extent, Need } from "../../../formats/disk-format.ts";
import { qcow2 } from "../../../formats/qcow2/qcow2.ts";
import { guestImage } from "../../support/build-qcow2.ts";
import { allExtents, answer, openImage, parse } from "../../support/parse.ts";
import { requireTools } from "../../support/tools.ts";

const TIB = 2 ** 40;

/** Walks the disk in steps of `step`, counting what is asked for. */
function walk(image: Uint8Array, step: number): { extents: Extent[]; needs: Need[] } {
  const opened = openImage(qcow2, image);
  const needs: Need[] = [];
  const extents: Extent[] = [];
  const size = opened.virtualSize ?? 0;
  for (let offset = 0; offset < size;) {
    for (const extent of parse(image, opened.extents(offset, Math.min(step, size - offset)), needs)) {
      extents.push(extent);
      offset = extent.offset + extent.length;
    }
  }
  return { extents, needs };
}

describe("a large qcow2 disk", { skip: requireTools("qemu-img", "qemu-io") }, () => {
  for (const [size, clusterSize] of [
    [15, "64k"],
    [15, "2M"],
    [64, "64k"],
  ] as const) {
    it(`Q20: costs nothing while it is empty: ${size} TiB in clusters of ${clusterSize}`, () => {
      const image = guestImage(`${size}T`, `cluster_size=${clusterSize}`, []);
      const started = performance.now();
      const { extents, needs } = walk(image, Number.MAX_SAFE_INTEGER);
      assert.deepEqual(extents, [{ kind: "hole", offset: 0, length: size * TIB }]);
      assert.ok(needs.length <= 1);
      const steps = walk(image, 2 ** 30);
      assert.equal(steps.extents.length, size * 1024);
      assert.ok(steps.needs.length <= 1);
      const scan = openImage(qcow2, image).scan();
      let scanNeeds = 0;
      for (let step = scan.next(); step.done !== true;) {
        scanNeeds++;
        assert.ok("offset" in step.value);
        step = scan.next(answer(image, step.value));
      }
      assert.ok(scanNeeds <= 5, `${scanNeeds} needs`);
      assert.ok(performance.now() - started < 2000);
    });
  }

  it("costs what is allocated", () => {
    const image = guestImage("15T", "", ["write -P 1 1T 64k", "write -P 2 14T 64k"]);
    const { extents, needs } = walk(image, Number.MAX_SAFE_INTEGER);
    assert.deepEqual(
      extents.map((e) => [e.kind, e.offset, e.length]),
      [
        ["hole", 0, TIB],
        ["data", TIB, 65536],
        ["hole", TIB + 65536, 13 * TIB - 65536],
        ["data", 14 * TIB, 65536],
        ["hole", 14 * TIB + 65536, TIB - 65536],
      ],
    );
    assert.equal(needs.length, 3);
  });

  it("answers in pieces where many tables must be read", () => {
    const image = guestImage("4M", "cluster_size=512", ["write -P 1 0 4M"]);
    const extents = allExtents(openImage(qcow2, image), image);
    assert.equal(
      extents.reduce((sum, extent) => sum + extent.length, 0),
      4 * 2 ** 20,
    );
  });
});
