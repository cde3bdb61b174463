/**
 * The contract of a target, run for each kind of it: `describeTarget(kind, place)`.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";
import { Worker } from "node:worker_threads";
import type { Target } from "../../importer/targets/target.ts";
import type { WriteWork } from "../support/write-worker.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

/** The disk that the suite pours. */
export const DISK_SIZE = 8 * MIB;

export interface OpenedPlace {
  readonly target: Target;
  /** What is there once the target is closed: DISK_SIZE bytes, or undefined where there is nothing. */
  readonly read: () => Buffer | undefined;
}

export interface PlaceOptions {
  readonly direct?: boolean;
  readonly kernelCalls?: boolean;
}

/** Makes a place that holds at least DISK_SIZE bytes, opens it as a target, runs `body`, takes the place away. */
export type WithPlace = (options: PlaceOptions, body: (place: OpenedPlace) => void | Promise<void>) => Promise<void>;

export function describeTarget(kind: string, skip: false | string, withPlace: WithPlace): void {
  describe(`target: ${kind}`, { skip }, () => {
    for (const options of [{}, { kernelCalls: false }, { direct: true }] as readonly PlaceOptions[]) {
      const with_ = `with ${JSON.stringify(options)}`;

      it(`holds what was written at any offset, and zeros elsewhere, ${with_}`, async () => {
        await withPlace(options, ({ target, read }) => {
          const disk = pour(target);
          assertSame(read(), disk);
        });
      });

      it(`reads before commit what commit leaves, ${with_}`, async () => {
        await withPlace(options, ({ target, read }) => {
          const disk = pour(target, false);
          const seen = Buffer.alloc(DISK_SIZE);
          for (let at = 0; at < DISK_SIZE; at += 700_000) {
            const piece = seen.subarray(at, at + 700_000);
            assert.equal(target.readAt(piece, at), piece.length);
          }
          assertSame(seen, disk);
          target.commit();
          assertSame(read(), disk);
        });
      });

      it(`leaves nothing that boots after abort, ${with_}`, async () => {
        await withPlace(options, ({ target, read }) => {
          pour(target, false);
          target.abort();
          target.abort();
          assertUnbootable(read());
        });
      });

      if (options.kernelCalls === false) continue; // threads write with no other calls
      it(`takes pieces of one sector from two threads, ${with_}`, async () => {
        await withPlace(options, async ({ target, read }) => {
          target.begin(DISK_SIZE);
          const offset = MIB - 4 * KIB; // across the end of the held head
          const toCome = new SharedArrayBuffer(4);
          new Int32Array(toCome)[0] = 2;
          const work = { spec: must(target.writer), offset, pieces: 8192, pieceLength: 128, step: 2, toCome };
          await Promise.all([runWorker({ ...work, first: 0 }), runWorker({ ...work, first: 1 })]);
          target.resize(DISK_SIZE);
          target.flush();
          target.commit();
          const expected = Buffer.alloc(work.pieces * work.pieceLength);
          for (let i = 0; i < work.pieces; i++) expected.fill(i, i * work.pieceLength, (i + 1) * work.pieceLength);
          assertSame(read()?.subarray(offset, offset + expected.length), expected);
        });
      });
    }

    it("needs no size to begin with", async () => {
      await withPlace({}, ({ target, read }) => {
        target.begin(undefined);
        target.writeAt(Buffer.alloc(DISK_SIZE, 7), 0);
        target.resize(DISK_SIZE);
        target.flush();
        target.commit();
        target.abort(); // does nothing any more
        assertSame(read(), Buffer.alloc(DISK_SIZE, 7));
      });
    });

    it("leaves what was there alone if it never began", async () => {
      await withPlace({}, ({ target }) => target.abort());
    });
  });
}

/** Writes a disk with pieces at awkward places; everything else is zeroed, or written as zeros where that is declined. */
export function pour(target: Target, commit = true): Buffer {
  const disk = Buffer.alloc(DISK_SIZE);
  const pieces = [
    [0, 1000],
    [MIB - 300, 5000],
    [2 * MIB + 512, 512],
    [3 * MIB + 123, 300_001],
    [5 * MIB, 2 * MIB + 100],
    [DISK_SIZE - 700, 700],
  ] as const;
  target.begin(DISK_SIZE);
  let at = 0;
  for (const [offset, length] of pieces) {
    zero(target, at, offset - at);
    const bytes = disk.subarray(offset, offset + length).fill(`piece at ${offset} `);
    target.writeAt(bytes, offset);
    at = offset + length;
  }
  zero(target, at, DISK_SIZE - at);
  target.resize(DISK_SIZE);
  target.flush();
  if (commit) target.commit();
  return disk;
}

function zero(target: Target, offset: number, length: number): void {
  if (length === 0 || target.startsZeroed || target.zeroAt(offset, length)) return;
  target.writeAt(new Uint8Array(length), offset);
}

/** `assert.deepEqual` takes seconds for megabytes. */
export function assertSame(actual: Uint8Array | undefined, expected: Uint8Array): void {
  assert.ok(actual !== undefined, "nothing is there");
  assert.equal(actual.length, expected.length);
  if (Buffer.compare(actual, expected) === 0) return;
  let at = 0;
  while (actual[at] === expected[at]) at += 1;
  assert.fail(`differs at ${at}: ${actual[at]} instead of ${expected[at]}`);
}

function assertUnbootable(disk: Buffer | undefined): void {
  if (disk === undefined) return;
  assertSame(disk.subarray(0, MIB), Buffer.alloc(MIB));
  assertSame(disk.subarray(DISK_SIZE - MIB), Buffer.alloc(MIB));
}

async function runWorker(workerData: WriteWork): Promise<void> {
  const worker = new Worker(new URL("../support/write-worker.ts", import.meta.url), { workerData });
  const [code] = (await once(worker, "exit")) as [number];
  assert.equal(code, 0);
}

function must<T>(value: T | undefined): T {
  assert.ok(value !== undefined);
  return value;
}
