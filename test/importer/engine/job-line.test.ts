/**
 * The jobs of one thread: those of a local file in their order, those over the network in the order in which their bytes come.
 */
import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { describe, it } from "node:test";
import { FormatError } from "../../../formats/errors.ts";
import { Counters } from "../../../importer/engine/counters.ts";
import { JobExecutor } from "../../../importer/engine/executor.ts";
import { JobLine } from "../../../importer/engine/job-line.ts";
import type { Job } from "../../../importer/engine/job.ts";
import { Interrupted, SourceError } from "../../../importer/errors.ts";
import { baseDisk } from "../../support/base-disk.ts";
import { jobOf, plain, withJobPlaces } from "../../support/job-places.ts";
import type { JobPlaces } from "../../support/job-places.ts";
import { withServer } from "../../support/misbehaving-server.ts";
import type { MisbehavingServer, Misdeed } from "../../support/misbehaving-server.ts";
import { remoteSpec } from "../../support/remote-ranges.ts";
import { until } from "../../support/start-decant.ts";

const KIB = 1024;
const PART = 256 * KIB;
const disk = baseDisk(2048 * KIB).map((byte) => byte | 1);
const PARTS = disk.length / PART;

interface Places {
  readonly line: JobLine;
  readonly executor: JobExecutor;
  readonly target: () => Buffer;
}

async function withLocal(use: (places: Places) => Promise<void>): Promise<void> {
  await withJobPlaces(disk, {}, async (places) => await withLine(places, use));
}

/** `misdeed` by the part that is asked for. */
async function withRemote(
  misdeed: (part: number) => Misdeed | undefined,
  use: (places: Places, server: MisbehavingServer) => Promise<void>,
): Promise<void> {
  const byPart = (_: number, { headers }: IncomingMessage): Misdeed | undefined => {
    return misdeed(Math.floor(Number(/\d+/.exec(headers.range ?? "")?.[0]) / PART));
  };
  await withServer({ bytes: Buffer.from(disk), etag: '"one"', misdeed: byPart }, async (server) => {
    await withJobPlaces(new Uint8Array(0), {}, async (places) => {
      const read = remoteSpec(`${server.origin}/disk`, disk.length);
      await withLine({ ...places, spec: { ...places.spec, read } }, async (line) => await use(line, server));
    });
  });
}

async function withLine({ spec, target }: JobPlaces, use: (places: Places) => Promise<void>): Promise<void> {
  const executor = new JobExecutor({ ...spec, counters: new Counters().shared });
  const line = new JobLine(executor);
  try {
    await use({ line, executor, target });
  } finally {
    await line.close();
  }
}

/** Copies a part to its place. */
function copy(part: number): Job {
  return jobOf({ kind: "file", offset: part * PART, length: PART }, plain(part * PART, PART, part * PART));
}

/** Pushes all of them, and says in which order they ended, and how. */
function pushAll(
  line: JobLine,
  jobs: readonly Job[],
): { readonly ended: (number | string)[]; readonly all: Promise<unknown> } {
  const ended: (number | string)[] = [];
  const done = jobs.map(async (job, i) => {
    try {
      await line.push(job);
      ended.push(i);
    } catch (error) {
      ended.push(`${i} ${(error as Error).name}`);
      throw error;
    }
  });
  return { ended, all: Promise.allSettled(done) };
}

const ALL = Array.from({ length: PARTS }, (_, part) => part);

describe("JobLine", () => {
  it("does jobs of a local file in their order", async () => {
    await withLocal(async ({ line, executor, target }) => {
      const { ended, all } = pushAll(line, ALL.map(copy));
      await all;
      assert.deepEqual(ended, ALL);
      assert.ok(target().equals(disk));
      const { bytesRead, readMs, waitMs } = executor.counters.totals();
      assert.equal(bytesRead, disk.length);
      assert.ok(readMs > 0);
      assert.equal(waitMs, 0);
    });
  });

  it("fetches what comes next meanwhile, and does it when it is there", async () => {
    // The first to be asked for is the last to come.
    const misdeed = (part: number): Misdeed | undefined => (part === 0 ? { drip: 4 * KIB } : undefined);
    await withRemote(misdeed, async ({ line, executor, target }, server) => {
      const started = performance.now();
      const { ended, all } = pushAll(line, ALL.map(copy));
      await until(() => ended.length === PARTS - 1);
      assert.equal(server.requests.length, PARTS);
      assert.ok(!ended.includes(0));
      assert.ok(target().subarray(PART).equals(disk.subarray(PART)));
      await all;
      assert.equal(ended.at(-1), 0);
      assert.ok(target().equals(disk));
      const { bytesRead, reads, retries, readMs, waitMs } = executor.counters.totals();
      assert.deepEqual([bytesRead, reads, retries, readMs], [disk.length, PARTS, 0, 0]);
      assert.ok(waitMs > 0 && waitMs <= performance.now() - started, "requests that overlap are waited for once");
    });
  });

  it("uses a buffer again only when its job is done", async () => {
    await withRemote(
      () => undefined,
      async ({ line, target }) => {
        for (let round = 0; round < 3; round++) {
          await pushAll(line, ALL.map(copy)).all;
          assert.ok(target().equals(disk));
          await pushAll(line, [3, 1, 3, 0].map(copy)).all;
          assert.ok(target().equals(disk));
        }
      },
    );
  });

  it("lets a job fail, and does the others", async () => {
    const misdeed = (part: number): Misdeed | undefined => {
      if (part === 0) return { drip: 8 * KIB };
      return part === 2 ? { status: 404 } : undefined;
    };
    await withRemote(misdeed, async ({ line, target }) => {
      const { ended, all } = pushAll(line, [0, 1, 2, 3].map(copy));
      await all;
      assert.deepEqual(new Set(ended), new Set([0, 1, "2 SourceError", 3]));
      assert.equal(ended.at(-1), 0);
      assert.ok(
        target()
          .subarray(0, 2 * PART)
          .equals(disk.subarray(0, 2 * PART)),
      );
      await assert.rejects(line.push(copy(2)), SourceError);
      await line.push(copy(4));
    });
  });

  it("lets a job fail that does not decode, or lies past the end", async () => {
    const beyond = jobOf({ kind: "file", offset: disk.length - 10, length: 20 }, plain(0, 20, disk.length - 10));
    const stored = { encoding: "zlib", offset: 0, length: PART, decodedLength: PART, skip: 0 } as const;
    const garbage = jobOf({ kind: "file", offset: 0, length: PART }, { offset: 0, length: PART, stored });
    await withRemote(
      () => undefined,
      async ({ line }) => {
        const { ended, all } = pushAll(line, [beyond, copy(0), garbage, copy(1)]);
        await all;
        assert.deepEqual(new Set(ended), new Set([`0 ${FormatError.name}`, 1, `2 ${FormatError.name}`, 3]));
      },
    );
  });

  it("takes bytes that come with a job", async () => {
    const bytes = Uint8Array.from(disk.subarray(0, 1000));
    await withRemote(
      () => undefined,
      async ({ line, target }, server) => {
        await line.push(jobOf({ kind: "bytes", bytes }, plain(0, 1000, 0)));
        assert.ok(target().equals(bytes));
        assert.equal(server.requests.length, 0);
      },
    );
  });

  it("gives up what waits for the network when it is closed", async () => {
    const misdeed = (part: number): Misdeed | undefined => (part === 1 ? { stallAfter: 1000 } : undefined);
    await withRemote(misdeed, async ({ line, target }, server) => {
      const { ended, all } = pushAll(line, [0, 1, 2, 3].map(copy));
      await until(() => ended.length === 3 && server.served() === 3 * PART + 1000);
      await line.close();
      const written = target();
      await all;
      assert.deepEqual(new Set(ended), new Set([0, `1 ${Interrupted.name}`, 2, 3]));
      assert.equal(ended.length, 4);
      assert.ok(target().equals(written), "no write after it was closed");
      await assert.rejects(line.push(copy(5)), Interrupted);
    });
  });
});
