import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { isRefusal, Lanes } from "../../../importer/http/lanes.ts";

/** Work that is under way until it is told to end. */
interface Works {
  readonly underWay: () => number;
  readonly start: (count: number) => void;
  /** Ends so many of those that are under way. */
  readonly end: (count: number) => Promise<void>;
}

function worksOn(lanes: Lanes): Works {
  const ends: (() => void)[] = [];
  return {
    underWay: () => ends.length,
    start: (count) => {
      for (let i = 0; i < count; i++) void lanes.run(() => new Promise<void>((resolve) => ends.push(resolve)));
    },
    end: async (count) => {
      for (const end of ends.splice(0, count)) end();
      await nextTurn();
    },
  };
}

describe("Lanes", () => {
  it("let everything run until somebody is refused, and then half of it", async () => {
    const lanes = new Lanes();
    const { underWay, start, end } = worksOn(lanes);
    start(8);
    assert.equal(underWay(), 8);
    assert.equal(lanes.narrow(), true);
    start(4);
    assert.equal(underWay(), 8, "there are four lanes, and eight in use");
    await end(4);
    assert.equal(underWay(), 4);
    await end(1);
    assert.equal(underWay(), 4);
    await end(4);
    assert.equal(underWay(), 3);
  });

  it("take what is refused for old news until there are no more in use than there may be", async () => {
    const lanes = new Lanes();
    const { underWay, start, end } = worksOn(lanes);
    start(8);
    for (let i = 0; i < 8; i++) assert.equal(lanes.narrow(), true);
    start(8);
    await end(4);
    assert.equal(underWay(), 4, "four, not one");
    assert.equal(lanes.narrow(), true);
    await end(3);
    await end(1);
    assert.equal(underWay(), 2);
    assert.equal(lanes.narrow(), true);
    await end(2);
    assert.equal(underWay(), 1);
    assert.equal(lanes.narrow(), false, "it is the only one");
  });

  it("hand on what work gives or throws, and its lane", async () => {
    const lanes = new Lanes();
    assert.equal(await lanes.run(() => Promise.resolve(7)), 7);
    await assert.rejects(
      lanes.run(() => Promise.reject(new RangeError("no"))),
      /no/,
    );
    assert.equal(await lanes.run(() => Promise.resolve(8)), 8);
  });
});

describe("isRefusal", () => {
  it("is what a server says that has too much to do", () => {
    assert.deepEqual([200, 206, 404, 429, 500, 502, 503].filter(isRefusal), [429, 503]);
  });
});
