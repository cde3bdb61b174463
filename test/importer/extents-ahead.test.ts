/**
 * Extents with several windows parsed at once: the same as one after the other, whatever order the tables come in.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { DiskImage, Extent } from "../../formats/disk-format.ts";
import { qcow2 } from "../../formats/qcow2/qcow2.ts";
import { diskFormats } from "../../formats/registry.ts";
import { SourceError } from "../../importer/errors.ts";
import { extentsAhead } from "../../importer/extents-ahead.ts";
import type { RandomAccess } from "../../importer/random-access.ts";
import { must } from "../../importer/run.ts";
import { buildQcow2 } from "../support/build-qcow2.ts";
import { sampleBytes, samples } from "../support/images.ts";
import { withStored } from "../support/job-places.ts";
import { lateAccess } from "../support/late-access.ts";
import { allExtents, openImage } from "../support/parse.ts";

const WINDOWS = 8;
const KIB = 1024;
/** Short enough that the small disks here have many. */
const FIRST_LENGTH = 512 * KIB;

async function collect(image: DiskImage, file: RandomAccess): Promise<Extent[]> {
  const all: Extent[] = [];
  for await (const extents of extentsAhead(image, file, FIRST_LENGTH)) {
    assert.ok(extents.length > 0);
    all.push(...extents);
  }
  return all;
}

/** Neighbours of the same kind as one: where a window ends says nothing about the disk. */
function merged(extents: readonly Extent[]): Extent[] {
  const result: Extent[] = [];
  for (const extent of extents) {
    const last = result.at(-1);
    const whole = last === undefined ? undefined : joined(last, extent);
    if (whole === undefined) result.push(extent);
    else result[result.length - 1] = whole;
  }
  return result;
}

function joined(a: Extent, b: Extent): Extent | undefined {
  if (a.offset + a.length !== b.offset || a.kind !== b.kind) return undefined;
  const length = a.length + b.length;
  if (a.kind !== "data" || b.kind !== "data") return { ...a, length };
  if (a.stored.encoding !== "plain" || b.stored.encoding !== "plain") return undefined;
  if (a.stored.offset + a.stored.length !== b.stored.offset) return undefined;
  return { ...a, length, stored: { ...a.stored, length: a.stored.length + b.stored.length } };
}

/** Every other cluster is there, so that a few tables fill an answer: a dozen answers, and as many tables without a cluster. */
const FRAGMENTED = fragmented(1400);

function fragmented(tables: number): Buffer {
  const perTable = 64; // entries of 8 bytes in 512
  const entries = (content: number): Map<number, bigint> => {
    const map = new Map<number, bigint>();
    for (let table = 0; table < tables; table += table % 7 === 0 ? 2 : 1) {
      for (let i = table % 2; i < perTable; i += 2)
        map.set(table * perTable + i, (1n << 63n) | BigInt(content + 512 * (i % 5)));
    }
    return map;
  };
  return buildQcow2({ clusterBits: 9, size: tables * 32 * KIB - 512, entries, content: Buffer.alloc(512 * 5, 1) });
}

describe("extentsAhead", () => {
  for (const sample of samples()) {
    if (sample.wrappers.length > 0 || sample.refused !== undefined) continue;
    it(`${sample.name}: as one after the other`, async () => {
      const format = diskFormats.find((candidate) => candidate.name === sample.format);
      assert.ok(format !== undefined);
      const bytes = sampleBytes(sample.name);
      const expected = merged(allExtents(openImage(format, bytes), bytes));
      for (let seed = 0; seed < 3; seed++) {
        const file = lateAccess(bytes, seed);
        assert.deepEqual(merged(await collect(openImage(format, bytes), file)), expected);
        assert.ok(file.mostInFlight() <= WINDOWS, `${file.mostInFlight()} reads at once`);
        assert.equal(file.inFlight(), 0);
      }
      await withStored(bytes, async (file) => {
        assert.deepEqual(merged(await collect(openImage(format, bytes), file)), expected, "from a local file");
      });
    });
  }

  it("parses eight windows at once and no more, and reads no more than one after the other", async () => {
    const bytes = FRAGMENTED;
    const alone = lateAccess(bytes, 1);
    const local: RandomAccess = { ...alone, spec: { name: "local", size: bytes.length, fd: -1 } };
    const expected = merged(await collect(openImage(qcow2, bytes), local));
    assert.equal(alone.mostInFlight(), 1, "a local file answers at once");
    assert.deepEqual(expected, merged(allExtents(openImage(qcow2, bytes), bytes)));
    for (let seed = 0; seed < 3; seed++) {
      const file = lateAccess(bytes, seed);
      assert.deepEqual(merged(await collect(openImage(qcow2, bytes), file)), expected);
      assert.equal(file.mostInFlight(), WINDOWS);
      assert.ok(file.asked.length <= alone.asked.length + 4 * WINDOWS, `${file.asked.length} of ${alone.asked.length}`);
    }
  });

  it("fails in its turn: what comes before it is still given", async () => {
    const bytes = FRAGMENTED;
    const image = openImage(qcow2, bytes);
    const all = allExtents(image, bytes);
    for (const failing of [0, 1, 60, 150, 200, 900]) {
      const file = lateAccess(bytes, failing, ({ number }) => number >= failing);
      const seen: Extent[] = [];
      const work = (async () => {
        for await (const extents of extentsAhead(openImage(qcow2, bytes), file, FIRST_LENGTH)) seen.push(...extents);
      })();
      await assert.rejects(work, SourceError);
      const end = seen.reduce((sum, { length }) => sum + length, 0);
      assert.ok(end < must(image.virtualSize, "the size"), "not all of it");
      assert.ok(failing < 150 || seen.length > 0);
      assert.deepEqual(merged(seen), merged(cut(all, end)));
      while (file.inFlight() > 0) await new Promise((resolve) => setImmediate(resolve));
    }
  });

  it("leaves nothing behind where whoever reads stops early", async () => {
    let hasStopped = false;
    let failures = 0;
    const file = lateAccess(FRAGMENTED, 3, () => {
      if (hasStopped) failures += 1;
      return hasStopped;
    });
    let answers = 0;
    for await (const _ of extentsAhead(openImage(qcow2, FRAGMENTED), file, FIRST_LENGTH)) {
      answers += 1;
      if (answers === 2) break;
    }
    hasStopped = true;
    while (file.inFlight() > 0) await new Promise((resolve) => setImmediate(resolve));
    // A failure that nobody waits for any more would end the process here.
    await new Promise((resolve) => setImmediate(resolve));
    assert.ok(failures > 0);
  });

  it("gives nothing of a disk without length, and refuses a parser that stands still", async () => {
    const bytes = FRAGMENTED;
    const image = openImage(qcow2, bytes);
    const empty: DiskImage = { ...image, virtualSize: 0 };
    assert.deepEqual(await collect(empty, lateAccess(bytes, 1)), []);
    const still: DiskImage = {
      ...image,
      virtualSize: 1024,
      // eslint-disable-next-line require-yield
      *extents() {
        return [];
      },
    };
    const work = (async () => {
      for await (const _ of extentsAhead(still, lateAccess(bytes, 1)));
    })();
    await assert.rejects(work, /no extents at 0/);
  });
});

/** Up to `end`. */
function cut(extents: readonly Extent[], end: number): Extent[] {
  return extents
    .filter((extent) => extent.offset < end)
    .map((extent) => (extent.offset + extent.length <= end ? extent : { ...extent, length: end - extent.offset }));
}
