import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MAX_ANNOUNCED } from "../../formats/disk-format.ts";
import { plainExtent } from "../../formats/extent-list.ts";
import { announce, HostRuns, MAX_RUNS } from "../../formats/host-runs.ts";

function listed(runs: HostRuns): number[][] {
  return [...runs.inHostOrder()].map(({ block, host, count }) => [block, host, count]);
}

describe("runs in host order", () => {
  it("are one for blocks that follow each other on both sides", () => {
    const runs = new HostRuns(4);
    for (let i = 0; i < 100_000; i++) runs.add(i, 100 + i * 4);
    assert.deepEqual(listed(runs), [[0, 100, 100_000]]);
  });

  it("are sorted by their place in the file, up to the largest", () => {
    const runs = new HostRuns(1);
    const hosts = Array.from({ length: 5000 }, (_, i) => ((i * 2654435761) % 2 ** 32) >>> 0);
    hosts.forEach((host, block) => runs.add(block * 2, host));
    runs.add(4_294_967_295, 4_294_967_295);
    const sorted = listed(runs);
    assert.equal(sorted.length, 5001);
    assert.deepEqual(
      sorted.map(([, host]) => host),
      [...hosts, 4_294_967_295].toSorted((a, b) => a - b),
    );
    for (const [block = 0, host] of sorted.slice(0, -1)) assert.equal(host, hosts[block / 2]);
  });

  it("keep a block's place where a host block is named twice", () => {
    const runs = new HostRuns(1);
    runs.add(0, 7);
    runs.add(1, 7);
    runs.add(2, 3);
    assert.deepEqual(listed(runs), [
      [2, 3, 1],
      [0, 7, 1],
      [1, 7, 1],
    ]);
  });

  it("end at their limit with an error that says what to do", () => {
    const runs = new HostRuns(1);
    for (let i = 0; i < MAX_RUNS; i++) runs.add(i, i * 2);
    assert.equal(runs.size, MAX_RUNS);
    assert.throws(() => runs.add(1, 1), { code: "FORMAT_OUT_OF_BOUNDS", remedy: /local file/ });
  });
});

describe("announcing", () => {
  it("is in bounded batches, and waits for the pass after eight of them", () => {
    const count = 9 * MAX_ANNOUNCED + 5;
    const extents = Array.from({ length: count }, (_, i) => plainExtent(i * 10, 5, i * 20));
    let announced = 0;
    for (const step of announce(extents)) {
      if ("peek" in step) {
        assert.equal(announced, 8 * MAX_ANNOUNCED);
        assert.deepEqual(step, { offset: announced * 20, length: 1, peek: true });
      } else if ("offset" in step) assert.fail("only a peek may be needed");
      else {
        assert.ok(step.length <= MAX_ANNOUNCED);
        announced += step.length;
      }
    }
    assert.equal(announced, count);
  });
});
