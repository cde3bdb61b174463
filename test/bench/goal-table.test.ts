import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { goalTable, limitTable } from "../../bench/goal-table.ts";
import type { Verdict } from "../../bench/verdict.ts";
import { golden } from "../support/golden.ts";

const WHOLE: Verdict = {
  row: "zlib.qcow2 local",
  line: "qemu-img -W -m 16",
  goal: { ratio: 2.5 },
  seconds: 0.804,
  ratio: 2.534,
  held: true,
  cpu: { value: 0.911, atMost: 1, held: true },
  memory: { value: 98.4e6, atMost: 150e6, held: true },
  portableRatio: 1.42,
  fastestPeer: { name: "qemu-img -W -m 16", ratio: 2.534 },
  limits: [{ name: "disk alone: cp", seconds: 0.402 }],
  troubles: [],
  load: 0.4,
};
const MISSED: Verdict = {
  ...WHOLE,
  row: "plain.qcow2 http 20 ms",
  line: "nbdkit + qemu-img",
  goal: { ratio: 5 },
  ratio: 4.987,
  held: false,
  cpu: { value: 1.6, atMost: 1.5, held: false },
  portableRatio: null,
  fastestPeer: { name: "nbdkit + qemu-img -W -m 16", ratio: 0.98 },
  limits: [],
};
const FAILED: Verdict = {
  ...MISSED,
  row: "empty-15t.qcow2 local",
  line: "qemu-img -W -m 16",
  goal: { seconds: 1 },
  seconds: null,
  ratio: null,
  cpu: { value: null, atMost: 1, held: null },
  memory: { value: null, atMost: 150e6, held: null },
  fastestPeer: null,
  limits: [{ name: "disk alone: cp", seconds: 0.1 }],
  troubles: ["decant, 2 threads: failed, status 1"],
};
const START_UP = { seconds: { value: 0.0712, atMost: 0.08, held: true }, starts: 20 };

describe("goalTable", () => {
  it("shows each goal, and whether it holds", () => {
    const text = [goalTable([WHOLE, MISSED, FAILED], START_UP, 100), limitTable([WHOLE, MISSED, FAILED])].join("\n");
    assert.equal(
      text,
      golden("bench/goals.txt", () => text),
    );
  });

  it("shows a start alone", () => {
    assert.equal(
      goalTable([], START_UP, 80),
      "decant --version: 71 ms, median of 20; goal <= 80 ms: held\n\n1 of 1 goals held\n",
    );
  });
});

describe("goalTable on a busy machine", () => {
  it("says that its figures do not count", () => {
    assert.match(goalTable([WHOLE, { ...WHOLE, load: 12.34 }], START_UP, 80), /a load of up to 12\.3: do not trust/);
    assert.doesNotMatch(goalTable([WHOLE], START_UP, 80), /trust/);
  });
});

describe("limitTable", () => {
  it("is nothing where no limit was measured", () => {
    assert.equal(limitTable([MISSED]), "");
  });
});
