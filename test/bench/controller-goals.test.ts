import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { controllerGoals, controllerTable } from "../../bench/controller-goals.ts";
import { golden } from "../support/golden.ts";

const FOUND = {
  count: 2000,
  seconds: 180.04,
  writesEach: 12.5,
  readsEach: 0.3,
  callsEach: { "create Event": 1.2, "patch DataVolume": 3 },
  residentMb: 150,
  peakMb: 201,
  cpuSeconds: 90.2,
  idleWrites: 0,
};

describe("controllerGoals", () => {
  it("holds each figure against its goal; the time grows with the number of imports", () => {
    const held = (found: Partial<typeof FOUND>): readonly boolean[] => {
      return controllerGoals({ ...FOUND, ...found }).map((goal) => goal.held);
    };
    assert.deepEqual(held({}), [true, true, false, true]);
    assert.deepEqual(held({ count: 200, peakMb: 200 }), [false, true, true, true]);
    assert.deepEqual(held({ writesEach: 15.1, idleWrites: 1 }), [true, false, false, false]);
  });

  it("is a table, with what each import asked for", () => {
    const text = controllerTable(FOUND);
    assert.equal(
      text,
      golden("bench/controller.txt", () => text),
    );
  });
});
