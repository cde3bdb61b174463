import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { drawable, escape, rateChart, rates, ratioChart } from "../../../cmd/bench/charts.ts";
import { sampleReport } from "../../support/bench-report.ts";

const [work] = sampleReport().works;
const drawn = drawable(work?.entries ?? []);

describe("rates", () => {
  it("are what arrived in equal parts of the time", () => {
    const samples = [
      [1, 0],
      [2, 400],
      [3, 400],
      [4, 800],
    ] as const;
    const found = rates({ seconds: 4, samples });
    assert.equal(found.length, 40);
    const at = (seconds: number): number => found.find(([time]) => time > seconds)?.[1] ?? -1;
    assert.deepEqual([at(0.5), Math.round(at(1.5)), Math.round(at(2.5)), Math.round(at(3.5))], [0, 400, 0, 400]);
    const sum = found.reduce((bytes, [, rate]) => bytes + rate / 10, 0);
    assert.ok(Math.abs(sum - 800) < 0.001, `${sum}`);
  });

  it("are none of a run that nobody watched, and never below zero", () => {
    assert.deepEqual(rates({ seconds: 1, samples: [] }), []);
    assert.deepEqual(
      rates({
        seconds: 0,
        samples: [
          [0, 1],
          [0, 2],
        ],
      }),
      [],
    );
    const shrinking = rates({
      seconds: 2,
      samples: [
        [1, 100],
        [2, 0],
      ],
    });
    assert.ok(shrinking.every(([, rate]) => rate >= 0));
  });
});

describe("charts", () => {
  it("give the ratio of each peer to each decant", () => {
    const text = ratioChart(drawn);
    // 2.5 s and 0.1 s by 0.8 s and by 0.5 s.
    assert.deepEqual(
      [...text.matchAll(/([\d.]+) ×/g)].map(([, ratio]) => ratio),
      ["3.13", "5.00", "0.13", "0.20"],
    );
    assert.equal(ratioChart(drawn.filter(({ entry }) => entry.peer === "decant")), "");
  });

  it("draw a line for everybody who was watched", () => {
    assert.equal([...rateChart(drawn, true).matchAll(/<polyline/g)].length, 4);
    assert.doesNotMatch(rateChart(drawn, true), /NaN|Infinity/);
    assert.match(rateChart(drawn, false), /as decant says/);
  });
});

describe("escape", () => {
  it("leaves no sign that HTML would take for its own", () => {
    assert.equal(escape(`<a href='x'>&"`), "&lt;a href=&#39;x&#39;&gt;&amp;&quot;");
    assert.equal(escape("\u001b[2J"), "\u{fffd}[2J");
  });
});
