/**
 * The pool, with jobs in the caller's own thread and in workers; worker-thread.ts is answered for here.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { FormatError } from "../../../formats/errors.ts";
import { openJobPool } from "../../../importer/engine/job-pool.ts";
import type { JobPool } from "../../../importer/engine/job-pool.ts";
import { Interrupted, SourceError, TargetError } from "../../../importer/errors.ts";
import { baseDisk } from "../../support/base-disk.ts";
import { jobOf, plain, withJobPlaces } from "../../support/job-places.ts";
import type { JobPlaces, PlacesOptions } from "../../support/job-places.ts";

const KIB = 1024;
const MIB = 1024 * KIB;
const disk = baseDisk(4 * MIB).map((byte) => byte | 1);

async function withPool(
  image: Uint8Array,
  threads: number,
  body: (pool: JobPool, places: JobPlaces) => Promise<void>,
  options: PlacesOptions = {},
): Promise<void> {
  await withJobPlaces(image, options, async (places) => {
    const pool = openJobPool(places.spec, threads);
    try {
      await body(pool, places);
    } finally {
      await pool.close();
    }
  });
}

/** Copies [offset, offset + length) of the file to the same place. */
function copy(offset: number, length: number): ReturnType<typeof jobOf> {
  return jobOf({ kind: "file", offset, length }, plain(offset, length, offset));
}

for (const threads of [1, 2]) {
  describe(`job pool of ${threads}`, () => {
    it("runs every job, tells of each, and counts over all threads", async () => {
      await withPool(disk, threads, async (pool, { target }) => {
        const done: number[] = [];
        for (let i = 0; i < 64; i++) await pool.submit(copy(i * 64 * KIB, 64 * KIB), () => void done.push(i));
        await pool.drain();
        assert.deepEqual(
          done.sort((a, b) => a - b),
          Array.from({ length: 64 }, (_, i) => i),
        );
        assert.ok(target().equals(disk));
        assert.equal(pool.totals().bytesWritten, disk.length);
        assert.equal(pool.totals().reads, 64);
        assert.equal(await pool.oneDone(), false);
      });
    });

    it("hands bytes over, and finds what is in the slab", async () => {
      const slab = new SharedArrayBuffer(MIB);
      new Uint8Array(slab).set(disk.subarray(0, MIB));
      const use = async (pool: JobPool, { target }: JobPlaces): Promise<void> => {
        await pool.submit(jobOf({ kind: "slab" }, plain(0, 64 * KIB, 512)));
        const bytes = Uint8Array.from(disk.subarray(MIB, MIB + 64 * KIB));
        await pool.submit(jobOf({ kind: "bytes", bytes }, plain(64 * KIB, 64 * KIB, 0)));
        await pool.drain();
        assert.ok(
          target()
            .subarray(0, 64 * KIB)
            .equals(disk.subarray(512, 512 + 64 * KIB)),
        );
        assert.ok(
          target()
            .subarray(64 * KIB)
            .equals(disk.subarray(MIB, MIB + 64 * KIB)),
        );
      };
      await withPool(disk, threads, use, { slab });
    });

    it("reports the zeros that a job found", async () => {
      const found: number[] = [];
      const use = async (pool: JobPool): Promise<void> => {
        await pool.submit(copy(0, MIB), ({ zeroRanges }) => void found.push(...zeroRanges));
        await pool.drain();
      };
      await withPool(Buffer.alloc(MIB), threads, use, { startsZeroed: false });
      assert.deepEqual(found, [0, MIB]);
    });

    it("stops at the first error, which keeps its class, code, context and cause", async () => {
      await withPool(disk, threads, async (pool) => {
        const stored = { encoding: "zlib", offset: 0, length: 4096, decodedLength: 64 * KIB, skip: 0 } as const;
        const damaged = jobOf({ kind: "file", offset: 0, length: 4096 }, { offset: 5 * MIB, length: 64 * KIB, stored });
        const isTheFirst = (error: unknown): boolean => {
          assert.ok(error instanceof FormatError, String(error));
          assert.equal(error.code, "FORMAT_CORRUPT");
          assert.deepEqual(error.context, { offset: 5 * MIB, hostOffset: 0 });
          assert.ok(error.cause instanceof FormatError);
          return true;
        };
        await assert.rejects(async () => {
          await pool.submit(damaged);
          await pool.drain();
        }, isTheFirst);
        if (threads === 1) return; // whoever submitted knows
        const beyond = jobOf({ kind: "file", offset: disk.length, length: 0 }, plain(0, 512, disk.length));
        await assert.rejects(pool.submit(beyond), isTheFirst);
        await assert.rejects(pool.drain(), isTheFirst);
        await assert.rejects(pool.oneDone(), isTheFirst);
      });
    });

    it("stops at an error of whoever is told that a job is done", async () => {
      await withPool(disk, threads, async (pool) => {
        const failure = new SourceError("SOURCE_UNAVAILABLE", "no more");
        await assert.rejects(async () => {
          await pool.submit(copy(0, 512), () => {
            throw failure;
          });
          await pool.drain();
        }, failure);
      });
    });

    it("takes no job after it was closed, and may be closed twice", async () => {
      await withPool(disk, threads, async (pool) => {
        await pool.close();
        await assert.rejects(pool.submit(copy(0, 512)), Interrupted);
      });
    });
  });
}

describe("job pool of one thread", () => {
  it("has run a job of a local file when the next one is asked for", async () => {
    await withPool(disk, 1, async (pool, { target }) => {
      await pool.submit(copy(0, 512));
      assert.equal(target().length, 512, "written before anybody drained it");
    });
  });

  it("lets timers run while it is busy", async () => {
    await withPool(disk, 1, async (pool) => {
      let ticks = 0;
      const timer = setInterval(() => (ticks += 1), 1);
      const until = Date.now() + 200;
      while (Date.now() < until) await pool.submit(copy(0, MIB));
      clearInterval(timer);
      assert.ok(ticks > 0);
    });
  });
});

/** From then on the caller's thread runs no jobs itself. */
async function letWorkersAnswer(pool: JobPool): Promise<void> {
  await pool.submit(copy(0, 512));
  await pool.drain();
}

describe("job pool of workers", () => {
  it("does what finds no room itself until the first worker answers", async () => {
    await withPool(disk, 2, async (pool, { target }) => {
      const done: number[] = [];
      for (let i = 0; i < 5; i++) await pool.submit(copy(i * 512, 512), () => void done.push(i));
      // The workers have two each, and no thread starts before its creator comes to the end of its turn.
      assert.equal(done[0], 4);
      assert.equal(target().length, 5 * 512);
      await pool.drain();
      assert.deepEqual(
        done.toSorted((a, b) => a - b),
        [0, 1, 2, 3, 4],
      );
      assert.equal(pool.totals().writes, 5);
    });
  });

  it("does nothing itself where jobs come out of a stream", async () => {
    await withJobPlaces(disk, { slab: new SharedArrayBuffer(MIB) }, async ({ spec }) => {
      const pool = openJobPool({ ...spec, read: undefined }, 2);
      try {
        let done = 0;
        const job = jobOf({ kind: "slab" }, plain(0, 512, 0));
        for (let i = 0; i < 16; i++) await pool.submit(job, () => void (done += 1));
        const oneMore = pool.submit(job, () => void (done += 1));
        assert.equal(done, 0, "it waits for a worker");
        await oneMore;
        assert.ok(done > 0);
        await pool.drain();
        assert.equal(done, 17);
      } finally {
        await pool.close();
      }
    });
  });

  it("never has more than two jobs a worker under way", async () => {
    await withPool(disk, 2, async (pool) => {
      let underWay = 0;
      let most = 0;
      for (let i = 0; i < 40; i++) {
        await pool.submit(copy(0, MIB), () => (underWay -= 1));
        underWay += 1;
        most = Math.max(most, underWay);
      }
      await pool.drain();
      assert.equal(underWay, 0);
      assert.equal(most, 4);
    });
  });

  it("writes nothing after close has returned, and wakes who waits", async () => {
    await withPool(disk, 2, async (pool, { target }) => {
      await letWorkersAnswer(pool);
      const long = jobOf(
        { kind: "file", offset: 0, length: disk.length },
        ...Array.from({ length: 40 }, (_, i) => plain(i * disk.length, disk.length, 0)),
      );
      for (let i = 0; i < 4; i++) await pool.submit(long);
      const waiting = assert.rejects(pool.submit(long), Interrupted);
      await sleep(30);
      await pool.close();
      const size = target().length;
      assert.ok(size < 40 * disk.length, "closed in the middle");
      await waiting;
      await sleep(50);
      assert.equal(target().length, size);
    });
  });

  it("reports that a thread cannot write, with the kernel's reason", async () => {
    await withJobPlaces(disk, {}, async ({ spec }) => {
      assert.ok(spec.writer !== undefined);
      const pool = openJobPool({ ...spec, writer: { ...spec.writer, fd: 1_000_000 } }, 2);
      try {
        await pool.submit(copy(0, 512));
        await assert.rejects(pool.drain(), (error) => {
          assert.ok(error instanceof TargetError && error.cause instanceof Error);
          assert.deepEqual([error.code, error.context["errno"]], ["TARGET_IO", "EBADF"]);
          assert.match(error.cause.message, /EBADF/);
          return true;
        });
      } finally {
        await pool.close();
      }
    });
  });
});
