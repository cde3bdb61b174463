import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { WorkQueue } from "../../controller/queue.ts";
import type { QueueOptions, WorkResult } from "../../controller/queue.ts";
import { handClock } from "../support/hand-clock.ts";

describe("WorkQueue", () => {
  it("works on a key once, however often it was added before", async () => {
    const { queue, worked, settle } = start(() => ({ result: "done" }), 1);
    for (const key of ["a", "b", "a", "a"]) queue.add(key);
    await settle();
    // "a" was taken when it was first added, so the later ones ask for another round: one.
    assert.deepEqual(worked, ["a", "b", "a"]);
  });

  it("never works on a key twice at a time", async () => {
    let running = 0;
    const { queue, worked, settle } = start(async () => {
      running += 1;
      assert.equal(running, 1);
      await Promise.resolve();
      running -= 1;
      return { result: "done" };
    }, 8);
    queue.add("a");
    queue.add("a");
    await settle();
    assert.deepEqual(worked, ["a", "a"]);
  });

  it("waits longer after each failure, and forgets them after a success", async () => {
    let failures = 5;
    const { queue, clock, settle, worked } = start(() => ({ result: failures-- > 0 ? "failed" : "done" }), 1);
    queue.add("a");
    const waits: number[] = [];
    for (;;) {
      await settle();
      const wait = clock.advanceToNext();
      if (wait === undefined) break;
      waits.push(wait);
    }
    assert.deepEqual(waits, [100, 200, 400, 800, 1600]);
    assert.equal(worked.length, 6);
    failures = 1;
    queue.add("a");
    await settle();
    assert.equal(clock.advanceToNext(), 100);
  });

  it("counts an exception as a failure", async () => {
    const { queue, clock, settle, errors } = start(() => {
      throw new Error("a bug");
    }, 1);
    queue.add("a");
    await settle();
    assert.deepEqual(errors, ["a: a bug"]);
    assert.equal(clock.advanceToNext(), 100);
  });

  it("comes back when it was asked to, or before if something changes", async () => {
    const { queue, clock, settle, worked } = start(() => ({ result: "done", againAfterMs: 5000 }), 1);
    queue.add("a");
    await settle();
    queue.addAfter("a", 7000);
    assert.equal(queue.scheduled, 1);
    assert.equal(clock.advanceToNext(), 5000);
    await settle();
    queue.add("a");
    await settle();
    assert.equal(worked.length, 3);
    assert.equal(queue.scheduled, 1, "a change takes the place of the time that was asked for before");
  });

  it("begins nothing once it is stopped", async () => {
    const { queue, settle, worked } = start(() => ({ result: "done", againAfterMs: 1 }), 1);
    queue.add("a");
    queue.add("b");
    await queue.stop();
    queue.add("c");
    await settle();
    assert.deepEqual(worked, ["a"]);
    assert.equal(queue.scheduled, 0);
  });

  it("goes on with what is begun before it begins anything new", async () => {
    const { queue, settle, worked } = start(() => ({ result: "done" }), 1);
    for (const key of ["new 1", "new 2", "new 3", "a", "new 2", "b"]) queue.add(key);
    await settle();
    assert.deepEqual(worked, ["new 1", "a", "b", "new 2", "new 3"]);
  });

  it("begins few at a time, however many it may work on", async () => {
    const ends: (() => void)[] = [];
    const work = async (): Promise<WorkResult> => {
      await new Promise<void>((resolve) => ends.push(resolve));
      return { result: "done" };
    };
    const { queue, settle, worked } = start(work, 8, { concurrencyOfNew: 2 });
    for (const key of ["new 1", "new 2", "new 3", "a", "b"]) queue.add(key);
    await settle();
    assert.deepEqual(worked, ["new 1", "new 2", "a", "b"]);
    ends[0]?.();
    await settle();
    assert.equal(worked.at(-1), "new 3");
  });

  it("begins what may be begun, and looks again by itself", async () => {
    let isFull = true;
    let asked = 0;
    const mayBegin = (key: string): boolean => {
      asked += 1;
      return !(isFull && key.endsWith("full"));
    };
    const { queue, clock, settle, worked } = start(() => ({ result: "done" }), 8, { mayBegin });
    for (const key of ["new 1 full", "new 2", "a", "b"]) queue.add(key);
    await settle();
    assert.deepEqual([worked, queue.depth, asked], [["a", "b"], 2, 1]);
    assert.equal(clock.advanceToNext(), 100);
    await settle();
    assert.deepEqual(worked, ["a", "b", "new 2"]);
    isFull = false;
    assert.equal(clock.advanceToNext(), 100);
    await settle();
    assert.deepEqual(worked, ["a", "b", "new 2", "new 1 full"]);
    assert.equal(clock.advanceToNext(), undefined);
  });
});

function start(
  work: (key: string) => WorkResult | Promise<WorkResult>,
  concurrency: number,
  begin: Partial<Pick<QueueOptions, "concurrencyOfNew" | "mayBegin">> = {},
) {
  const clock = handClock();
  const worked: string[] = [];
  const errors: string[] = [];
  const queue = new WorkQueue({
    work: async (key) => {
      worked.push(key);
      return await work(key);
    },
    onError: (key, error) => errors.push(`${key}: ${(error as Error).message}`),
    concurrency,
    isNew: (key) => key.startsWith("new"),
    concurrencyOfNew: concurrency,
    mayBegin: () => true,
    ...begin,
    clock,
  });
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { queue, clock, worked, errors, settle };
}
