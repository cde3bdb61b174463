import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { ITEM, ITEM_FIELDS, itemField } from "../../../importer/engine/job.ts";
import type { Job } from "../../../importer/engine/job.ts";
import { JobPlanner, MAX_BATCH, RUN_LENGTH } from "../../../importer/engine/planner.ts";
import type { DataExtent } from "../../../importer/engine/planner.ts";
import { plain } from "../../support/job-places.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

function encoded(offset: number, storedAt: number, storedLength: number): DataExtent {
  const stored = {
    encoding: "zlib",
    offset: storedAt,
    length: storedLength,
    decodedLength: 64 * KIB,
    skip: 0,
  } as const;
  return { offset, length: 64 * KIB, stored };
}

function plan(extents: readonly DataExtent[], hostSize = 1024 * MIB): Job[] {
  const planner = new JobPlanner(hostSize);
  for (const extent of extents) planner.add(extent);
  return [...planner.jobs()];
}

/** [host offset, length] of what each job reads. */
function reads(jobs: readonly Job[]): [number, number][] {
  return jobs.map(({ input }) => {
    assert.ok(input.kind === "file");
    return [input.offset, input.length];
  });
}

/** [virtual offset, length, host offset] of every row. */
function rows(job: Job): [number, number, number][] {
  return Array.from({ length: job.items.length / ITEM_FIELDS }, (_, row) => [
    itemField(job.items, row, ITEM.offset),
    itemField(job.items, row, ITEM.length),
    itemField(job.items, row, ITEM.storedAt),
  ]);
}

describe("JobPlanner", () => {
  it("reads in host order what came in virtual order, in one run", () => {
    const clusters = [3, 0, 2, 1].map((place, i) => plain(i * 64 * KIB, 64 * KIB, MIB + place * 64 * KIB));
    const jobs = plan(clusters);
    assert.deepEqual(reads(jobs), [[MIB, 256 * KIB]]);
    assert.deepEqual(
      jobs.flatMap(rows).map(([offset]) => offset / (64 * KIB)),
      [1, 3, 2, 0],
    );
  });

  it("ends a run before it gets longer than RUN_LENGTH", () => {
    const clusters = Array.from({ length: 100 }, (_, i) => plain(i * 64 * KIB, 64 * KIB, i * 64 * KIB));
    assert.deepEqual(reads(plan(clusters)), [
      [0, RUN_LENGTH],
      [RUN_LENGTH, RUN_LENGTH],
      [2 * RUN_LENGTH, RUN_LENGTH],
      [3 * RUN_LENGTH, 100 * 64 * KIB - 3 * RUN_LENGTH],
    ]);
  });

  it("reads half as far where there is something to decode", () => {
    const clusters = Array.from({ length: 100 }, (_, i) => encoded(i * 64 * KIB, i * 64 * KIB, 64 * KIB));
    const lengths = reads(plan(clusters)).map(([, length]) => length);
    assert.deepEqual([...new Set(lengths.slice(0, -1))], [RUN_LENGTH / 2]);
  });

  it("cuts a long plain extent, and leaves an encoded one whole", () => {
    const [long, huge] = [plain(7 * MIB, 2 * RUN_LENGTH + 5, 512), encoded(0, 100 * MIB, RUN_LENGTH + 1)];
    const jobs = plan([long, huge]);
    assert.deepEqual(jobs.map(rows), [
      [[7 * MIB, RUN_LENGTH, 512]],
      [[7 * MIB + RUN_LENGTH, RUN_LENGTH, 512 + RUN_LENGTH]],
      [[7 * MIB + 2 * RUN_LENGTH, 5, 512 + 2 * RUN_LENGTH]],
      [[0, 64 * KIB, 100 * MIB]],
    ]);
    assert.deepEqual(reads(jobs).at(-1), [100 * MIB, RUN_LENGTH + 1]);
  });

  it("reads along a gap of 64 KiB and not one byte more", () => {
    const at = (gap: number): DataExtent[] => [plain(0, 512, 0), plain(512, 512, 512 + gap)];
    assert.deepEqual(reads(plan(at(64 * KIB))), [[0, 64 * KIB + 1024]]);
    assert.deepEqual(reads(plan(at(64 * KIB + 1))), [
      [0, 512],
      [512 + 64 * KIB + 1, 512],
    ]);
  });

  it("reads once what two compressed clusters share", () => {
    assert.deepEqual(reads(plan([encoded(0, 1000, 1536), encoded(64 * KIB, 2000, 1536)])), [[1000, 2536]]);
  });

  it("reads nothing past the end of the file", () => {
    assert.deepEqual(reads(plan([encoded(0, 1000, 1536)], 1300)), [[1000, 300]]);
    assert.deepEqual(reads(plan([plain(0, 512, 5000)], 1300)), [[5000, 0]]);
  });

  it("is full with MAX_BATCH extents, and empty after its jobs", () => {
    const planner = new JobPlanner(2 ** 40);
    for (let batch = 0; batch < 2; batch++) {
      for (let i = 0; i < MAX_BATCH; i++) {
        assert.equal(planner.isFull, false);
        // Backwards, so that the order is not there already.
        planner.add(plain((batch * MAX_BATCH + i) * 512, 512, (MAX_BATCH - i) * 512));
      }
      assert.equal(planner.isFull, true);
      const jobs = [...planner.jobs()];
      assert.equal(jobs.length, (MAX_BATCH * 512) / RUN_LENGTH);
      assert.equal(
        jobs.reduce((sum, { items }) => sum + items.length / ITEM_FIELDS, 0),
        MAX_BATCH,
      );
    }
    assert.deepEqual([...planner.jobs()], []);
  });

  it("reads again from the start of what lies inside a long extent", () => {
    const jobs = plan([plain(0, RUN_LENGTH + 4096, 0), plain(4 * MIB, 4096, 8192)]);
    assert.deepEqual(reads(jobs), [
      [0, RUN_LENGTH],
      [RUN_LENGTH, 4096],
      [8192, 4096],
    ]);
  });

  it("puts every byte of every extent into one job, which reads it", () => {
    const cluster = fc.record({
      at: fc.nat(3000),
      length: fc.oneof(fc.integer({ min: 1, max: 64 }), fc.integer({ min: 4096, max: 20_000 })),
      plain: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(cluster, { maxLength: 60 }), (clusters) => {
        let offset = 0;
        const extents = clusters.map(({ at, length, plain: isPlain }) => {
          const extent = isPlain ? plain(offset, length * 512, at * 4096) : encoded(offset, at * 4096, length * 512);
          offset += extent.length;
          return extent;
        });
        const jobs = plan(extents);
        for (const job of jobs) {
          assert.ok(job.input.kind === "file");
          for (let row = 0; row < job.items.length / ITEM_FIELDS; row++) {
            const start = itemField(job.items, row, ITEM.storedAt);
            const end = start + itemField(job.items, row, ITEM.storedLength);
            assert.ok(start >= job.input.offset && end <= job.input.offset + job.input.length, "inside what is read");
          }
        }
        const placed = jobs.flatMap(rows).sort((a, b) => a[0] - b[0]);
        let next = 0;
        for (const [at, length] of placed) {
          assert.equal(at, next, "no gap and nothing twice");
          next += length;
        }
        assert.equal(next, offset);
      }),
      { seed: 5, numRuns: 200 },
    );
  });
});
