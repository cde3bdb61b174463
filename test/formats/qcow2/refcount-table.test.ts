import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { RefcountWalk } from "../../../formats/qcow2/refcount-table.ts";
import type { RefcountTable } from "../../../formats/qcow2/refcount-table.ts";
import { someGeometry } from "./geometries.ts";

const CLUSTER = 65536;

/** The clusters that are asked for up to each limit, where the refcount table lists `blocks`. */
function passed(
  table: RefcountTable,
  blocks: readonly bigint[],
  limits: readonly number[],
  position = CLUSTER,
): number[][] {
  const walk = new RefcountWalk(table, someGeometry({ l1TableOffset: 3 * CLUSTER }), position);
  return limits.map((limit) => {
    const asked: number[] = [];
    const passing = walk.passUpTo(limit * CLUSTER);
    let step = passing.next();
    while (step.done !== true) {
      assert.equal(step.value.shortAtEnd, true);
      asked.push(step.value.offset / CLUSTER);
      const bytes = Buffer.alloc(step.value.length);
      if (step.value.offset === table.offset)
        blocks.forEach((block, i) => bytes.writeBigUInt64BE(block * BigInt(CLUSTER), i * 8));
      step = passing.next(bytes);
    }
    return asked;
  });
}

describe("qcow2 refcount table", () => {
  const table = { offset: CLUSTER, length: CLUSTER };

  it("is asked for with its blocks, each in its turn", () => {
    assert.deepEqual(passed(table, [2n, 20n, 9n], [3, 5, 10, 30]), [[1, 2], [], [9], [20]]);
  });

  it("is asked for after the rest of the header's cluster", () => {
    assert.deepEqual(passed(table, [], [3], 512), [[512 / CLUSTER, 1]]);
  });

  it("is left out where it looks wrong", () => {
    for (const wrong of [
      { offset: CLUSTER, length: 0 },
      { offset: 0, length: CLUSTER },
      { offset: 512, length: CLUSTER },
      { offset: CLUSTER, length: 9 * 2 ** 20 },
      { offset: 2 * CLUSTER, length: 2 * CLUSTER },
    ]) {
      assert.deepEqual(passed(wrong, [5n], [100]), [[]]);
    }
  });

  it("leaves out blocks that look wrong, lie behind, or occur twice", () => {
    assert.deepEqual(passed(table, [0n, 1n, 5n, 5n, 2n ** 40n], [3, 9]), [[1], [5]]);
  });
});
