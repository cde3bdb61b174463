import assert from "node:assert/strict";
import fs from "node:fs";
import { describe, it } from "node:test";
import fc from "fast-check";
import { SourceError } from "../../importer/errors.ts";
import { firstSegmentEndingAfter, openRandomAccess } from "../../importer/random-access.ts";
import type { LocalAccess } from "../../importer/random-access.ts";
import { withStored } from "../support/job-places.ts";

const bytes = Buffer.from(Array.from({ length: 1000 }, (_, i) => (i * 7) % 251 || 1));

function read(file: LocalAccess, offset: number, length: number): Buffer {
  const into = Buffer.alloc(length, 0xee);
  const count = file.readAt(into, offset);
  assert.ok(
    into.subarray(count).every((byte) => byte === 0xee),
    "wrote no more than it answered",
  );
  return into.subarray(0, count);
}

describe("a file, read at random", () => {
  it("gives what is there, and fewer bytes only at its end", async () => {
    await withStored(bytes, (file) => {
      for (const [offset, length] of [
        [0, 1000],
        [17, 3],
        [990, 10],
        [990, 100],
        [1000, 5],
        [5000, 5],
        [3, 0],
      ] as const) {
        assert.ok(read(file, offset, length).equals(bytes.subarray(offset, offset + length)), `${length} at ${offset}`);
      }
    });
  });

  it("is made again from its spec, for another thread", async () => {
    await withStored(bytes, (file) => {
      assert.ok(read(openRandomAccess(structuredClone(file.spec)), 5, 50).equals(bytes.subarray(5, 55)));
    });
  });

  it("says that a file became shorter, and which could not be read", async () => {
    await withStored(bytes, ({ spec }) => {
      fs.ftruncateSync(spec.fd, 500);
      const file = openRandomAccess(spec);
      assert.throws(
        () => read(file, 400, 200),
        (error) => error instanceof SourceError && error.code === "SOURCE_CHANGED",
      );
      const gone = openRandomAccess({ fd: 1_000_000, name: "the image", size: 10 });
      assert.throws(
        () => read(gone, 3, 2),
        (error) =>
          error instanceof SourceError &&
          error.code === "SOURCE_UNAVAILABLE" &&
          error.message === "cannot read the image at 3",
      );
    });
  });
});

describe("a member of a file, read at random", () => {
  const segment = fc.record({ gap: fc.nat(20), length: fc.integer({ min: 1, max: 30 }), hostGap: fc.nat(20) });

  it("is its segments, with zeros between", async () => {
    await withStored(bytes, ({ spec }) => {
      fc.assert(
        fc.property(
          fc.array(segment, { maxLength: 12 }),
          fc.nat(10),
          fc.nat(400),
          fc.nat(200),
          (list, rest, offset, length) => {
            const segments: number[] = [];
            const expected: number[] = [];
            let host = 0;
            for (const each of list) {
              host += each.hostGap;
              for (let i = 0; i < each.gap; i++) expected.push(0);
              segments.push(expected.length, each.length, host);
              expected.push(...bytes.subarray(host, host + each.length));
              host += each.length;
            }
            for (let i = 0; i < rest; i++) expected.push(0);
            const member = openRandomAccess({ ...spec, size: expected.length, segments: Float64Array.from(segments) });
            assert.deepEqual([...read(member, offset, length)], expected.slice(offset, offset + length));
          },
        ),
        { seed: 2, numRuns: 300 },
      );
    });
  });

  it("says that the archive became shorter", async () => {
    await withStored(bytes, ({ spec }) => {
      const member = openRandomAccess({ ...spec, size: 100, segments: Float64Array.of(0, 100, 950) });
      assert.throws(
        () => read(member, 0, 100),
        (error) => error instanceof SourceError && error.code === "SOURCE_CHANGED",
      );
    });
  });

  it("finds the first segment that ends after an offset", () => {
    const segments = Float64Array.of(10, 5, 0, 15, 5, 100, 30, 1, 200);
    for (const [offset, at] of [
      [0, 0],
      [14, 0],
      [15, 1],
      [19, 1],
      [20, 2],
      [30, 2],
      [31, 3],
    ] as const) {
      assert.equal(firstSegmentEndingAfter(segments, offset), at);
    }
    assert.equal(firstSegmentEndingAfter(new Float64Array(0), 0), 0);
  });
});
