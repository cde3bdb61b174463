import assert from "node:assert/strict";
import { describe, it } from "node:test";
import zlib from "node:zlib";
import { FormatError } from "../../../formats/errors.ts";
import { Counters } from "../../../importer/engine/counters.ts";
import { JobExecutor } from "../../../importer/engine/executor.ts";
import type { Job, JobResult } from "../../../importer/engine/job.ts";
import type { DataExtent } from "../../../importer/engine/planner.ts";
import { baseDisk } from "../../support/base-disk.ts";
import { jobOf, plain, withJobPlaces } from "../../support/job-places.ts";
import type { JobPlaces, PlacesOptions } from "../../support/job-places.ts";

const KIB = 1024;
const CLUSTER = 64 * KIB;
const disk = baseDisk(1024 * KIB).map((byte) => byte | 1); // no zeros in it

interface Ran {
  readonly result: JobResult;
  readonly totals: ReturnType<Counters["totals"]>;
  readonly target: Buffer;
}

function execute(image: Uint8Array, job: Job, options: PlacesOptions = {}): Promise<Ran> {
  return withJobPlaces(image, options, (places) => {
    const executor = newExecutor(places);
    try {
      return { result: runJob(executor, job), totals: executor.counters.totals(), target: places.target() };
    } finally {
      executor.close();
    }
  });
}

/** As a thread does it: loads, then runs. The input is there at once. */
function runJob(executor: JobExecutor, job: Job): JobResult {
  const input = executor.load(job.input);
  assert.ok(!(input instanceof Promise));
  return executor.run(job, input);
}

function newExecutor({ spec }: JobPlaces): JobExecutor {
  return new JobExecutor({ ...spec, counters: new Counters().shared });
}

/** `contents` as clusters of the disk from `offset` on, deflated and back to back in a file. */
function deflated(contents: readonly Uint8Array[], offset = 0): { image: Buffer; extents: DataExtent[] } {
  const parts = contents.map((content) => zlib.deflateRawSync(content));
  let storedAt = 0;
  const extents = parts.map((part, i): DataExtent => {
    const stored = {
      encoding: "deflate",
      offset: storedAt,
      length: part.length,
      decodedLength: CLUSTER,
      skip: 0,
    } as const;
    storedAt += part.length;
    return { offset: offset + i * CLUSTER, length: CLUSTER, stored };
  });
  return { image: Buffer.concat(parts), extents };
}

function clusters(...numbers: readonly number[]): Uint8Array[] {
  return numbers.map((number) => Uint8Array.from(disk.subarray(number * CLUSTER, (number + 1) * CLUSTER)));
}

function whole(image: Uint8Array, extents: readonly DataExtent[]): Job {
  return jobOf({ kind: "file", offset: 0, length: image.length }, ...extents);
}

describe("JobExecutor", () => {
  it("writes plain extents of a run to their places, with one read", async () => {
    const image = Buffer.from(disk.subarray(CLUSTER, 3 * CLUSTER));
    const job = jobOf(
      { kind: "file", offset: 512, length: 100 * KIB },
      plain(40 * KIB, 20_000, 512),
      plain(0, 9000, 60_000),
    );
    const { target, totals } = await execute(image, job);
    assert.ok(target.subarray(40 * KIB, 40 * KIB + 20_000).equals(image.subarray(512, 20_512)));
    assert.ok(target.subarray(0, 9000).equals(image.subarray(60_000, 69_000)));
    assert.equal(target.length, 40 * KIB + 20_000);
    assert.deepEqual([totals.reads, totals.bytesRead, totals.bytesDecoded], [1, 100 * KIB, 0]);
    assert.equal(totals.bytesWritten + totals.bytesZeroed, 29_000);
  });

  it("takes bytes from the slab, or from the job itself", async () => {
    const slab = new SharedArrayBuffer(128 * KIB);
    new Uint8Array(slab).set(disk.subarray(0, 128 * KIB));
    const inSlab = await execute(new Uint8Array(0), jobOf({ kind: "slab" }, plain(0, 512, CLUSTER)), { slab });
    assert.ok(inSlab.target.equals(disk.subarray(CLUSTER, CLUSTER + 512)));
    const bytes = Uint8Array.from(disk.subarray(0, 512));
    const own = await execute(new Uint8Array(0), jobOf({ kind: "bytes", bytes }, plain(100, 412, 100)));
    assert.ok(own.target.subarray(100).equals(disk.subarray(100, 512)));
    assert.equal(own.totals.reads, 0);
  });

  it("gathers clusters that follow each other into one write", async () => {
    const contents = clusters(1, 2, 3, 4);
    const { image, extents } = deflated(contents, CLUSTER);
    const { target, totals } = await execute(image, whole(image, extents), { startsZeroed: false });
    assert.ok(target.subarray(CLUSTER).equals(Buffer.concat(contents)));
    assert.deepEqual([totals.writes, totals.bytesWritten, totals.bytesDecoded], [1, 4 * CLUSTER, 4 * CLUSTER]);
  });

  it("gathers no further than 512 KiB, and not over a gap", async () => {
    const contents = clusters(...Array.from({ length: 20 }, () => 1));
    const { image, extents } = deflated(contents);
    const long = await execute(image, whole(image, extents), { startsZeroed: false });
    assert.equal(long.totals.writes, 3);
    assert.ok(long.target.equals(Buffer.concat(contents)));
    const apart = extents.slice(0, 2).map((extent, i) => ({ ...extent, offset: 2 * i * CLUSTER }));
    assert.equal((await execute(image, whole(image, apart), { startsZeroed: false })).totals.writes, 2);
  });

  it("writes plain data between clusters where it belongs", async () => {
    const { image, extents } = deflated(clusters(1, 2));
    const file = Buffer.concat([image, Buffer.alloc(CLUSTER, 9)]);
    const [one, two] = extents;
    assert.ok(one !== undefined && two !== undefined);
    const rows = [one, plain(CLUSTER, CLUSTER, image.length), { ...two, offset: 2 * CLUSTER }];
    const { target } = await execute(file, whole(file, rows));
    const [first = file, second = file] = clusters(1, 2);
    assert.ok(target.equals(Buffer.concat([first, Buffer.alloc(CLUSTER, 9), second])));
  });

  it("writes the part of a cluster that an extent is, from its skip on", async () => {
    const [content = new Uint8Array(0)] = clusters(1);
    const image = zlib.deflateRawSync(content);
    const part = (skip: number, length: number): DataExtent => ({
      offset: skip,
      length,
      stored: { encoding: "deflate", offset: 0, length: image.length, decodedLength: CLUSTER, skip },
    });
    for (const [skip, length] of [
      [0, 4096],
      [4096, 8192],
      [CLUSTER - 512, 512],
    ] as const) {
      const { target, totals } = await execute(image, whole(image, [part(skip, length)]));
      assert.ok(target.subarray(skip).equals(content.subarray(skip, skip + length)));
      assert.equal(target.length, skip + length);
      assert.equal(totals.bytesWritten, length);
    }
    // A partial one ends what is gathered, and the next begins anew.
    const rows = [part(0, 4096), { ...part(8192, 4096), offset: 4096 }];
    const { target } = await execute(image, whole(image, rows));
    assert.ok(target.equals(Buffer.concat([content.subarray(0, 4096), content.subarray(8192, 12_288)])));
  });

  it("drops zeros on a target that starts zeroed, in grains of 4 KiB", async () => {
    const image = Buffer.alloc(256 * KIB);
    image.fill(1, 5000, 5001);
    image.fill(1, 200_000, 200_100);
    const { target, totals, result } = await execute(image, whole(image, [plain(0, image.length, 0)]));
    assert.deepEqual([totals.writes, totals.bytesWritten], [2, 2 * 4096]);
    assert.equal(totals.bytesZeroed, image.length - 2 * 4096);
    assert.equal(result.zeroRanges.length, 0);
    assert.ok(target.equals(image.subarray(0, target.length)));
  });

  it("reports zeros of 64 KiB and more on any other target, and writes shorter ones", async () => {
    const image = Buffer.alloc(400 * KIB, 1);
    image.fill(0, 4 * KIB, 64 * KIB); // 60 KiB
    image.fill(0, 128 * KIB, 192 * KIB); // 64 KiB
    image.fill(0, 256 * KIB - 1, 384 * KIB + 1); // 128 KiB in whole grains
    const job = whole(image, [plain(0, image.length, 0)]);
    const before = Buffer.alloc(image.length, 0xee);
    const { target, totals, result } = await execute(image, job, { startsZeroed: false, target: before });
    assert.deepEqual([...result.zeroRanges], [128 * KIB, 64 * KIB, 256 * KIB, 128 * KIB]);
    assert.equal(totals.bytesZeroed, 192 * KIB);
    for (const [start, end] of [
      [128 * KIB, 192 * KIB],
      [256 * KIB, 384 * KIB],
    ] as const) {
      assert.ok(target.subarray(start, end).equals(before.subarray(start, end)), "left to the target's own means");
      image.copy(target, start, start, end);
    }
    assert.ok(target.equals(image));
  });

  it("forgets the zeros of the job before", async () => {
    const image = Buffer.alloc(128 * KIB);
    await withJobPlaces(image, { startsZeroed: false }, (places) => {
      const executor = newExecutor(places);
      assert.equal(runJob(executor, whole(image, [plain(0, image.length, 0)])).zeroRanges.length, 2);
      assert.equal(runJob(executor, whole(image, [plain(0, 512, 0)])).zeroRanges.length, 0);
      executor.close();
    });
  });

  it("refuses plain data that lies beyond the end of the image", async () => {
    const image = Buffer.alloc(1000, 1);
    await assert.rejects(
      execute(image, whole(image, [plain(8 * CLUSTER, 512, 600)])),
      (error) =>
        error instanceof FormatError &&
        error.code === "FORMAT_CORRUPT" &&
        /0x80000 .*beyond the end/.test(error.message),
    );
  });

  it("names the place of data that does not decode, and keeps why", async () => {
    const { image, extents } = deflated(clusters(1), 3 * CLUSTER);
    image.fill(0xff, 0, 40);
    await assert.rejects(execute(image, whole(image, extents)), (error) => {
      assert.ok(error instanceof FormatError && error.cause instanceof FormatError);
      assert.equal(error.code, "FORMAT_CORRUPT");
      assert.match(error.message, /0x30000 does not decode/);
      assert.deepEqual(error.context, { offset: 3 * CLUSTER, hostOffset: 0 });
      return true;
    });
  });

  it("decodes the same with the portable decoders", async () => {
    const contents = clusters(1, 2);
    const { image, extents } = deflated(contents);
    for (const decoders of ["auto", "portable"] as const) {
      const { target } = await execute(image, whole(image, extents), { decoders });
      assert.ok(target.equals(Buffer.concat(contents)));
    }
  });

  it("throws decoded data away where there is no writer", async () => {
    const { image, extents } = deflated(clusters(1));
    await withJobPlaces(image, {}, ({ spec, target }) => {
      const executor = new JobExecutor({ ...spec, writer: undefined, counters: new Counters().shared });
      runJob(executor, whole(image, extents));
      executor.close();
      assert.equal(executor.counters.totals().bytesDecoded, CLUSTER);
      assert.equal(target().length, 0);
    });
  });
});
