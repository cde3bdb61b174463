import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { FormatError } from "../../../formats/errors.ts";
import { FutureExtents } from "../../../importer/engine/future-extents.ts";
import type { DataExtent } from "../../../importer/engine/planner.ts";
import { plain } from "../../support/job-places.ts";

const MAX_FUTURE = 1024 * 1024;

describe("FutureExtents", () => {
  it("gives back every field, the lowest host offset first", () => {
    const extents: DataExtent[] = [
      plain(0, 512, 2 ** 50),
      ...(["deflate", "zlib", "zstd", "vmdk-grain"] as const).map((encoding, i) => ({
        offset: 2 ** 45 + i * 65_536,
        length: 4096,
        stored: { encoding, offset: 1000 - i, length: 777, decodedLength: 2 * 1024 * 1024, skip: 8192 * i },
      })),
    ];
    const future = new FutureExtents();
    for (const extent of extents) future.add(extent);
    const taken = extents.map(() => future.take());
    assert.deepEqual(taken, [...extents.slice(1).reverse(), extents[0]]);
    assert.equal(future.isEmpty, true);
    assert.equal(future.nextOffset, Infinity);
    assert.throws(() => future.take(), /no extent/);
  });

  it("is a sorted list, whatever comes and goes between", () => {
    const steps = fc.array(fc.option(fc.nat(1000), { freq: 3 }), { maxLength: 3000, size: "max" });
    fc.assert(
      fc.property(steps, (offsets) => {
        const future = new FutureExtents();
        const sorted: number[] = [];
        for (const [i, offset] of offsets.entries()) {
          if (offset === null) {
            if (sorted.length === 0) continue;
            const extent = future.take();
            assert.equal(extent.stored.offset, sorted.shift());
          } else {
            future.add(plain(i, 512, offset));
            sorted.push(offset);
            sorted.sort((a, b) => a - b);
          }
          assert.equal(future.nextOffset, sorted[0] ?? Infinity);
        }
        assert.deepEqual(
          sorted.map(() => future.take().stored.offset),
          sorted,
        );
      }),
      { seed: 11, numRuns: 20 },
    );
  });

  it("refuses more than a million at once", () => {
    const future = new FutureExtents();
    const extent = plain(0, 512, 7);
    for (let i = 0; i < MAX_FUTURE; i++) future.add(extent);
    assert.throws(
      () => future.add(extent),
      (error) => error instanceof FormatError && error.code === "FORMAT_OUT_OF_BOUNDS" && error.remedy !== undefined,
    );
    future.take();
    future.add(extent);
  });
});
