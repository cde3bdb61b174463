import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { PROGRESS_METRIC, progressLine, ProgressScale } from "../../importer/progress-metric.ts";

/** How a controller finds the figure in the page. */
const FOUND = /^kubevirt_cdi_import_progress_total\{ownerUID="b856691e-1038-11e9"\} (\d{1,3}\.?\d*)$/;

describe("progressLine", () => {
  it("is spelt as controllers look for it", () => {
    assert.equal(progressLine("uid", 45.5), 'kubevirt_cdi_import_progress_total{ownerUID="uid"} 45.5');
    assert.equal(PROGRESS_METRIC.help, "The import progress in percentage");
    fc.assert(
      fc.property(fc.nat(), fc.integer({ min: 1 }), (done, total) => {
        const percent = new ProgressScale().update(done, total);
        assert.equal(Number(FOUND.exec(progressLine("b856691e-1038-11e9", percent))?.[1]), percent);
      }),
    );
  });
});

describe("ProgressScale", () => {
  it("counts in hundredths, rounded down", () => {
    const rows: readonly [done: number, total: number, percent: number][] = [
      [0, 100, 0],
      [1, 3, 33.33],
      [1, 1e9, 0],
      [2 ** 40 - 1, 2 ** 40, 99.99],
      [5, 5, 100],
      [6, 5, 100],
      [1, 0, 0],
    ];
    for (const [done, total, percent] of rows) assert.equal(new ProgressScale().update(done, total), percent);
  });

  it("never falls, and stays where the total is unknown", () => {
    const scale = new ProgressScale();
    const samples: readonly [done: number, total: number | undefined][] = [
      [50, 100],
      [10, 100],
      [99, undefined],
      [51, 100],
      [0, 0],
    ];
    assert.deepEqual(
      samples.map(([done, total]) => scale.update(done, total)),
      [50, 50, 50, 51, 51],
    );
  });
});
