import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { SourceError } from "../../../importer/errors.ts";
import { clipExtents, parseExtents } from "../../../importer/imageio/extents.ts";
import type { DiskExtents } from "../../../importer/imageio/extents.ts";

const K = 1024;

/** Lengths in KiB, data and zeros in turn. */
function parse(...lengths: number[]): DiskExtents {
  let start = 0;
  const list = lengths.map((length, index) => {
    const extent = { start, length: length * K, zero: index % 2 === 1, hole: false };
    start += extent.length;
    return extent;
  });
  return parseExtents(Buffer.from(JSON.stringify(list)), "disk 1");
}

describe("imageio extents", () => {
  it("are data between zeros", () => {
    assert.deepEqual(parse(100, 1000, 50, 900), {
      size: 2050 * K,
      runs: [
        { start: 0, end: 100 * K },
        { start: 1100 * K, end: 1150 * K },
      ],
    });
    assert.deepEqual(parse(0, 4096), { size: 4096 * K, runs: [] });
    assert.deepEqual(parse(), { size: 0, runs: [] });
  });

  it("take short zeros along, and join what touches", () => {
    assert.deepEqual(parse(100, 64, 50, 65, 1).runs, [
      { start: 0, end: 214 * K },
      { start: 279 * K, end: 280 * K },
    ]);
    assert.deepEqual(parse(100, 0, 50).runs, [{ start: 0, end: 150 * K }]);
  });

  it("end where the disk does", () => {
    const all = parse(100, 1000, 50, 900);
    assert.equal(clipExtents(all, all.size), all);
    assert.deepEqual(clipExtents(all, 1120 * K).runs, [
      { start: 0, end: 100 * K },
      { start: 1100 * K, end: 1120 * K },
    ]);
    assert.deepEqual(clipExtents(all, 1100 * K), { size: 1100 * K, runs: [{ start: 0, end: 100 * K }] });
    assert.equal(clipExtents(all, all.size + 1), all);
  });

  it("are refused where they cannot be trusted, whatever a server sends", () => {
    const refused = (text: string, words: RegExp): void => {
      assert.throws(() => parseExtents(Buffer.from(text), "disk 1"), { name: "SourceError", message: words });
    };
    refused(
      '[{"start":0,"length":4096,"zero":false},{"start":0,"length":4096,"zero":false}]',
      /starts at 0 where 4096/,
    );
    refused('[{"start":0,"length":4096,"zero":false},{"start":4097,"length":1,"zero":true}]', /cannot safely append/);
    refused(
      '[{"start":0,"length":9007199254740991,"zero":true},{"start":9007199254740991,"length":9,"zero":true}]',
      /beyond/,
    );
    refused('[{"start":0,"length":1e300,"zero":true}]', /number 0 is no extent/);
    refused('[{"start":"0","length":1,"zero":true}]', /number 0 is no extent/);
    const anything = fc.oneof(
      fc.json(),
      fc.json().map((text) => `[{"start":0,"length":${text},"zero":true}]`),
      fc.string(),
    );
    fc.assert(
      fc.property(anything, (text) => {
        try {
          const { size, runs } = parseExtents(Buffer.from(text), "disk 1");
          assert.ok(Number.isSafeInteger(size) && runs.every(({ start, end }) => start < end && end <= size));
        } catch (error) {
          assert.ok(error instanceof SourceError, String(error));
        }
      }),
      { seed: 1, numRuns: 300 },
    );
  });
});
