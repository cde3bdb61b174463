import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";
import { Worker } from "node:worker_threads";
import { allocateLocks, withLock } from "../../../importer/targets/shared-locks.ts";

const ROUNDS = 20_000;

describe("withLock", () => {
  it("lets one thread at a time in", async () => {
    const module = new URL("../../../importer/targets/shared-locks.ts", import.meta.url).href;
    const locks = allocateLocks();
    const sum = new SharedArrayBuffer(4);
    const code = `
      const { workerData } = require("node:worker_threads");
      import(${JSON.stringify(module)}).then(({ withLock }) => {
        const sum = new Int32Array(workerData.sum);
        // Not atomic on purpose: without the lock additions are lost.
        for (let i = 0; i < ${ROUNDS}; i++) withLock(workerData.locks, 1000, () => { sum[0] = sum[0] + 1; });
      });`;
    const workers = [1, 2, 3].map(() => new Worker(code, { eval: true, workerData: { locks, sum } }));
    const codes = await Promise.all(workers.map(async (worker) => (await once(worker, "exit")) as [number]));
    assert.deepEqual(codes, [[0], [0], [0]]);
    assert.equal(new Int32Array(sum)[0], 3 * ROUNDS);
    assert.deepEqual(new Set(new Int32Array(locks)), new Set([0]));
  });

  it("frees the lock when the body throws, and returns what the body does", () => {
    const locks = allocateLocks();
    assert.throws(
      () =>
        withLock(locks, 7, () => {
          throw new Error("body");
        }),
      /body/,
    );
    assert.equal(
      withLock(locks, 7, () => 42),
      42,
    );
  });
});
